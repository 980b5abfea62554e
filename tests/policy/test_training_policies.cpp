// The policies of training, by name.
#include <set>
#include <string>
#include <type_traits>

#include <catch2/catch.hpp>

#include <precast/policy/training_policies.hpp>

using namespace precast;

namespace {

template <Literal Name, class P>
inline constexpr bool named = std::is_same_v<training_policy_named<Name>, P>;

static_assert(named<"f32", Policy<Storage<f32>>>);
static_assert(
    named<"naive-f16",
          Policy<Storage<f16>, Downcast<Matmul, Attention, Norm, Softmax, Reduction, Loss, Pointwise>>>);
static_assert(named<"amp-bf16+flash", Policy<Storage<f32>, Compute<bf16>, Activation<f32>, Flash>>);
static_assert(named<"f16+flash+upcast-matmul", Policy<Storage<f16>, Upcast<Matmul>, Flash>>);
// Presets are names too, and each is one that builds hold unless they leave it out.
static_assert(named<"quality", presets::Quality> && named<"balanced", presets::Balanced> &&
              named<"fast", presets::Fast> && named<"memory", presets::Memory>);
static_assert(named<"fast+no-flash", Policy<Storage<bf16>>>);

// f16 is what loses small gradients; fp8 operands become bf16 there, and naive f16 shows the loss.
static_assert(scales_loss<training_policy_named<"amp-f16">> && scales_loss<training_policy_named<"f16">> &&
              scales_loss<training_policy_named<"amp-f16+upcast-matmul">>);
static_assert(!scales_loss<training_policy_named<"f32">> && !scales_loss<training_policy_named<"bf16">> &&
              !scales_loss<training_policy_named<"fp8">> &&
              !scales_loss<training_policy_named<"naive-f16">> &&
              !scales_loss<training_policy_named<"amp-f16+upcast-attention+upcast-matmul">>);

}  // namespace

TEST_CASE("each policy of training has one name, which reads back, and is another policy") {
  std::set<std::string> names;
  for_each_training_policy([&]<class P>(const TrainingChoice& choice) {
    const std::string name = to_string(choice);
    INFO(name);
    CHECK(names.insert(name).second);
    CHECK(training_choice_named(name) == choice);
    std::size_t alike = 0;
    for_each_training_policy([&]<class Q>(const TrainingChoice&) { alike += std::is_same_v<P, Q> ? 1 : 0; });
    CHECK(alike == 1);
  });
  // All that texts can name.
  std::set<std::string> named;
  for (const detail::RegimeFacts& regime : detail::regime_facts)
    for (const char* attention : {"", "+upcast-attention"})
      for (const char* matmul : {"", "+upcast-matmul"})
        for (const char* flash : {"", "+flash"})
          if (const auto choice =
                  training_choice_named(std::string(regime.name) + attention + matmul + flash))
            named.insert(to_string(*choice));
  CHECK(named == names);
  for (const std::string_view name : default_training_policies) CHECK(names.contains(std::string(name)));
}

TEST_CASE("texts name every regime, and those that take nothing besides") {
  CHECK(training_regimes_in_words() == "f32, naive-f16, amp-f16, amp-bf16, bf16, f16, fp8");
  const std::string words = training_names_in_words();
  CHECK(words.starts_with(training_regimes_in_words() + ", or a preset, then any of "));
  CHECK(words.find("(naive-f16 takes none of them)") != words.npos);
}

TEST_CASE("what names no policy of training is none") {
  for (const char* name : {"", "+flash", "f32+", "fp16", "amp-f16+flashy", "naive-f16+flash",
                           "naive-f16+upcast-matmul", "auto", "f32 ", "amp-f16++flash", "bf16+flash+flash",
                           "bf16+flash+no-flash", "f16+upcast-matmul+upcast-matmul"}) {
    INFO(name);
    CHECK_FALSE(training_choice_named(name));
  }
  CHECK(training_choice_named("f32+upcast-matmul") == training_choice_named("f32"));
  CHECK(training_choice_named("fast+no-flash+upcast-matmul") == training_choice_named("bf16+upcast-matmul"));
  CHECK(training_choice_named("memory+flash") == training_choice_named("f16+upcast-attention+flash"));
}
