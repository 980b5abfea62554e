// Presets that a program adds beside Precast's own.
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <cli/casting/cost_options.hpp>
#include <cli/options/policy_options.hpp>
#include <cli/options/policy_table.hpp>
#include <families/memory_estimate.hpp>
#include <families/presets.hpp>

#include <precast/error.hpp>
#include <precast/policy/paths.hpp>

namespace added_presets {
namespace {

using namespace precast;
using namespace precast::families;

using Plain = Policy<Storage<f16>, Compute<bf16>, Activation<f32>, Flash>;

template <PolicyType P>
AddedPreset preset(std::string_view name) {
  return {name, "for a test", spelling_of<P>(), op_rows_of<P>(), gradient_table_of<P>(), 2};
}

}  // namespace

TEST_CASE("a policy's spelling is that of its choice, and names what no choice can") {
  for (const NamedPreset& named : named_presets) CHECK(spelling(named.choice) == to_string(named.choice));
  CHECK(spelling_of<presets::Quality>() == to_string(choice_of<presets::Quality>()));
  CHECK(spelling_of<presets::Memory>() == to_string(choice_of<presets::Memory>()));
  CHECK(spelling_of<presets::Fast>() == to_string(choice_of<presets::Fast>()));
  CHECK(spelling_of<Plain>() == "Policy<Storage<f16>, Compute<bf16>, Activation<f32>, Flash>");
  CHECK(spelling_of<Policy<Storage<f16>, Compute<bf16>, Downcast<Norm, Softmax>, Overflow<Saturate>>>() ==
        "Policy<Storage<f16>, Compute<bf16>, Downcast<Norm, Softmax>, Overflow<Saturate>>");
}

TEST_CASE("where nobody says what to measure, it is what the build holds") {
  const auto usual = [](const std::vector<NamedPreset>& compiled) { return cli::usual_policy(compiled); };
  CHECK(usual({named_presets.begin(), named_presets.end()}) == "balanced");
  CHECK(usual({*preset_named("quality")}) == "quality");
  CHECK(usual({*preset_named("fast"), *preset_named("memory")}) == "fast");
  CHECK_NOTHROW(require_policy(cli::parse_policy(usual(compiled_presets()))));
  CHECK(cli::usual_types([](std::string_view) { return true; }) ==
        "q8_0,fp8_e4m3,q6_k,q5_1,q5_k,q4_1,q4_k,q4_0,q3_k,q2_k");
  CHECK(cli::usual_types([](std::string_view format) { return format == "q4_k"; }) == "fp8_e4m3,q4_k");
}

TEST_CASE("what does not fit is told a preset that this build holds, and whose weights are smaller") {
  const auto said = [](const ComponentChoices& choices) {
    MemoryEstimate estimate;
    estimate.components = {{"transformer", std::int64_t{1} << 40, 0}};
    try {
      require_memory("model", estimate, choices, false, 1);
    } catch (const OutOfMemory& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto smallest = smallest_preset();
  bool is_there = false;
  for (const NamedPreset& preset : named_presets) {
    INFO(preset.name);
    const bool is_smaller = smallest && bytes_per_value(smallest->choice) < bytes_per_value(preset.choice);
    is_there = is_there || (path_compiled(preset.choice) && smallest && smallest->name == preset.name);
    CHECK_THAT(said(ComponentChoices::all(preset.choice)),
               Catch::EndsWith(is_smaller ? "are free: try --preset " + std::string(smallest->name) +
                                                ", or a smaller --width and --height"
                                          : "are free: try a smaller --width and --height"));
  }
  CHECK(is_there == smallest.has_value());
  if (path_compiled(choice_of<presets::Quality>()) && path_compiled(choice_of<presets::Memory>()))
    CHECK(smallest.value().name == "memory");
}

TEST_CASE("an added preset has a name, a table and a choice for as long as it is there") {
  CHECK(!find_preset("mine"));
  const std::size_t before = all_presets().size();
  {
    const PresetAddition added(preset<Plain>("mine"));
    const PresetAddition other(preset<presets::Fast>("other"));
    const auto found = find_preset("mine");
    REQUIRE(found);
    CHECK(found->summary == "for a test");
    CHECK(all_presets().size() == before + 2);
    CHECK(found->choice != find_preset("other")->choice);
    CHECK(found->choice == found->choice.normalised());
    CHECK(spelling(found->choice) == spelling_of<Plain>());
    CHECK(precision_name(found->choice) == "mine");
    CHECK(bytes_per_value(found->choice) == 2);
    CHECK_NOTHROW(require_policy(found->choice));
    CHECK(cli::op_rows(found->choice) == op_rows_of<Plain>());
    CHECK(cli::parse_policy("mine") == found->choice);
    CHECK(cli::policy_text(found->choice) == "mine");
    CHECK(cli::policy_names().starts_with("quality|"));
    CHECK(cli::policy_names().find("|mine|") != std::string::npos);
    // A preset is one policy: there is none with other casts beside it.
    CHECK_THROWS_WITH(require_policy(cli::parse_policy("mine+upcast-matmul")),
                      Catch::Contains("mine is compiled as Policy<Storage<f16>, Compute<bf16>") &&
                          Catch::Contains("alone"));
    CHECK_THROWS_AS(cpu_backend().models(cli::parse_policy("mine+flash")), PathNotCompiled);
    CHECK(cpu_backend().models(found->choice).empty());
    CHECK_THROWS_AS(PresetAddition(preset<Plain>("mine")), Error);
    CHECK_THROWS_AS(PresetAddition(preset<Plain>("fast")), Error);
    CHECK_THROWS_AS(PresetAddition(preset<Plain>("auto")), Error);
  }
  CHECK(!find_preset("mine"));
  CHECK(all_presets().size() == before);
}

TEST_CASE("presets of Precast's own are found as before") {
  CHECK(find_preset("fast")->choice == preset_named("fast")->choice);
  for (const NamedPreset& named : compiled_presets()) CHECK(path_compiled(named.choice));
  CHECK(bytes_per_value(preset_named("memory")->choice) == 2);
  CHECK(precision_name(preset_named("quality")->choice) == "f32");
}

}  // namespace added_presets
