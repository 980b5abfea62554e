// From names at run time to policies: choices, presets, the paths of this build and the one visitor over
// them.
#include <algorithm>
#include <string>
#include <type_traits>
#include <vector>

#include <boost/hana/length.hpp>
#include <catch2/catch.hpp>
#include <stamped_paths.hpp>

#include <precast/policy/presets.hpp>
#include <precast/policy/visit.hpp>

using namespace precast;

namespace {

/// Every choice that can be written down, f32 with upcasts and casts that no path has together included.
std::vector<PolicyChoice> every_choice() {
  std::vector<PolicyChoice> choices;
  for (const Precision precision : all_precisions)
    for (const bool flash : {false, true})
      for (const bool attention : {false, true})
        for (const bool matmul : {false, true})
          for (const bool conv : {false, true})
            choices.push_back({precision, {flash, attention, matmul, conv}});
  return choices;
}

template <class P>
constexpr std::size_t times_compiled() {
  std::size_t times = 0;
  boost::hana::for_each(CompiledPaths{}, [&](auto path) {
    times += std::is_same_v<typename decltype(path)::type::policy, P> ? 1 : 0;
  });
  return times;
}

template <class... Policies>
constexpr bool stamped_once_each(PolicyList<Policies...>) {
  return sizeof...(Policies) == decltype(boost::hana::length(CompiledPaths{}))::value &&
         ((times_compiled<Policies>() == 1) && ...);
}
static_assert(stamped_once_each(StampedPaths{}),
              "cmake/PrecastPaths.cmake and precast::CompiledPaths list different paths.");

template <class P>
constexpr bool preset_is(std::string_view name) {
  const PolicyChoice choice = preset_named(name)->choice;
  using S = typename P::storage;
  return to_string(choice.precision) == dtype_traits<S>::name && choice.options.flash == P::flash &&
         choice.options.upcast_attention == P::template upcasts<Attention> &&
         choice.options.upcast_matmul == P::template upcasts<Matmul>;
}
static_assert(preset_is<presets::Quality>("quality"));
static_assert(preset_is<presets::Balanced>("balanced"));
static_assert(preset_is<presets::Fast>("fast"));
static_assert(preset_is<presets::Memory>("memory"));
// Operands of 8 bits leave wider results between ops: to be a precision of the pipeline takes no more than a
// place in PathDtypes.
static_assert(in_one_precision<Policy<Storage<fp8_e5m2>, Upcast<Conv>, Flash>>() &&
              in_one_precision<presets::Memory>() &&
              !in_one_precision<Policy<Storage<fp8_e5m2>, Activation<fp8_e5m2>>>() &&
              !in_one_precision<Policy<Storage<f32>, Compute<bf16>>>() &&
              !in_one_precision<Policy<Storage<f16>, Downcast<Norm>>>());
static_assert(!preset_named("automatic") && !preset_named(""));
static_assert(precision_named("bf16") == precision_of<bf16> && !precision_named("float32"));
static_assert(is_path_precision(precision_of<f16>) && bytes_of(precision_of<f16>) == 2);

}  // namespace

TEST_CASE("a path's choice and its policy say the same") {
  for_each_path([](auto path) {
    using Path = decltype(path);
    using P = typename Path::policy;
    CHECK(dtype_traits<typename P::storage>::name == to_string(Path::choice.precision));
    CHECK(P::flash == Path::choice.options.flash);
    CHECK(P::template upcasts<Attention> == Path::choice.options.upcast_attention);
    CHECK(P::template upcasts<Matmul> == Path::choice.options.upcast_matmul);
    CHECK(P::template upcasts<Conv> == Path::choice.options.upcast_conv);
    CHECK(choice_of<P>() == Path::choice);
    CHECK(std::is_same_v<WithoutUpcastConv<P>,
                         typename PolicyPath<PolicyChoice{
                             .precision = Path::choice.precision,
                             .options = {.flash = Path::choice.options.flash,
                                         .upcast_attention = Path::choice.options.upcast_attention,
                                         .upcast_matmul = Path::choice.options.upcast_matmul}}>::policy>);
    CHECK(Path::choice.normalised() == Path::choice);
  });
}

TEST_CASE("paths have names that read back, and CMake lists these") {
  CHECK(std::is_same_v<policy_named<"f32">, Policy<Storage<f32>>>);
  CHECK(std::is_same_v<policy_named<"f16_upcast_matmul_upcast_attention_flash">,
                       Policy<Storage<f16>, Upcast<Matmul, Attention>, Flash>>);
  CHECK(std::is_same_v<policy_named<"bf16_upcast_conv">, Policy<Storage<bf16>, Upcast<Conv>>>);
  CHECK(std::is_same_v<policy_named<"f16_upcast_matmul_upcast_conv_upcast_attention_flash">,
                       Policy<Storage<f16>, Upcast<Attention, Matmul, Conv>, Flash>>);
  std::vector<std::string> names;
  for_each_choice([&](const PolicyChoice& choice) {
    std::string name;
    spell_path(choice, [&](std::string_view part) { name += part; });
    CAPTURE(name);
    CHECK(path_named(name) == choice);
    names.push_back(name);
  });
  CHECK(names.size() == 26);
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  for (const char* name :
       {"", "f32_", "f32_upcast_matmul", "bf16_flash_upcast_matmul", "bf16_upcast", "all", "f32_upcast_conv",
        "f16_upcast_conv_upcast_attention", "f16_upcast_matmul_upcast_conv"})
    CHECK_FALSE(path_named(name));
}

TEST_CASE("the visitor finds the path of every choice that is compiled in, and refuses the others") {
  for (const PolicyChoice& choice : every_choice()) {
    CAPTURE(to_string(choice));
    const auto name = [&] {
      return visit_policy<std::string>(choice, [](auto path) { return to_string(decltype(path)::choice); });
    };
    if (path_compiled(choice))
      CHECK(name() == to_string(choice.normalised()));
    else
      CHECK_THROWS_AS(name(), PathNotCompiled);
  }
}

TEST_CASE("the visitor calls for one path only") {
  for (const PolicyChoice& choice : every_choice()) {
    if (!path_compiled(choice)) continue;
    int calls = 0;
    visit_policy<int>(choice, [&](auto) { return ++calls; });
    CHECK(calls == 1);
  }
}

TEST_CASE("a path that is not compiled in names the option to turn on") {
  for (const PolicyChoice& choice : every_choice()) {
    if (path_compiled(choice)) continue;
    try {
      require_path(choice);
      FAIL("no error for " + to_string(choice));
    } catch (const PathNotCompiled& error) {
      const std::string text = error.what();
      CAPTURE(text);
      CHECK(text.find(to_string(choice)) == 0);
      if (is_path(choice))
        CHECK(text.find(compiled_preset == "all" ? "-DPRECAST_PRECISIONS=" : "-DPRECAST_PRESET=all") !=
              std::string::npos);
      else
        CHECK(text.find("the nearest is " + to_string(nearest_path(choice))) != std::string::npos);
    }
  }
}

TEST_CASE("a choice that is no path has one that does all that it asks for") {
  for (const PolicyChoice& choice : every_choice()) {
    CAPTURE(to_string(choice));
    const PolicyChoice asked = choice.normalised(), nearest = nearest_path(choice);
    CHECK(is_path(nearest));
    CHECK(nearest.precision == choice.precision);
    CHECK(nearest.options.flash == choice.options.flash);
    CHECK(nearest.options.upcast_conv == asked.options.upcast_conv);
    CHECK(nearest.options.upcast_attention >= asked.options.upcast_attention);
    CHECK(nearest.options.upcast_matmul >= asked.options.upcast_matmul);
    CHECK((nearest == asked) == is_path(choice));
    CHECK(is_path(choice) ==
          !(asked.options.upcast_conv && asked.options.upcast_attention != asked.options.upcast_matmul));
  }
}

TEST_CASE("a precision that stands for an added preset is no path, and has neither name nor size") {
  for (const std::size_t place : {all_precisions.size(), first_added_precision, std::size_t{255}}) {
    const auto precision = static_cast<Precision>(place);
    CHECK_FALSE(is_path_precision(precision));
    CHECK_THROWS_WITH(to_string(precision), Catch::StartsWith("precision " + std::to_string(place) +
                                                              " is not one of PathDtypes (from 128 on"));
    CHECK_THROWS_AS(bytes_of(precision), Error);
    CHECK_FALSE(path_compiled({.precision = precision}));
    CHECK_THROWS_AS(require_path({.precision = precision}), Error);
  }
}

TEST_CASE("choices are spelled as C++") {
  CHECK(to_string(PolicyChoice{.precision = precision_of<f16>, .options = {.upcast_conv = true}}) ==
        "Policy<Storage<f16>, Upcast<Conv>>");
  CHECK(to_string(PolicyChoice{.precision = precision_of<bf16>,
                               .options = {.flash = true,
                                           .upcast_attention = true,
                                           .upcast_matmul = true,
                                           .upcast_conv = true}}) ==
        "Policy<Storage<bf16>, Upcast<Matmul, Conv, Attention>, Flash>");
  CHECK(to_string(PolicyChoice{precision_of<f32>}) == "Policy<Storage<f32>>");
  CHECK(to_string(PolicyChoice{.precision = precision_of<bf16>, .options = {.flash = true}}) ==
        "Policy<Storage<bf16>, Flash>");
  CHECK(to_string(PolicyChoice{.precision = precision_of<f16>, .options = {.upcast_attention = true}}) ==
        "Policy<Storage<f16>, Upcast<Attention>>");
  CHECK(
      to_string(PolicyChoice{.precision = precision_of<f16>,
                             .options = {.flash = true, .upcast_attention = true, .upcast_matmul = true}}) ==
      "Policy<Storage<f16>, Upcast<Matmul, Attention>, Flash>");
  CHECK(to_string(PolicyChoice{.precision = precision_of<f16>, .options = {.upcast_matmul = true}}) ==
        "Policy<Storage<f16>, Upcast<Matmul>>");
}
