// plan: a plan as the program gives it, and what it refuses.
#include <string>
#include <vector>

#include <casting/plan_file.hpp>
#include <catch2/catch.hpp>

#include "given.hpp"
#include "program.hpp"

namespace planning {
namespace {

using program::flux_dev_costs;
using program::with;
using program::Words;

/// A cost file of two layers, with something in place of its first layer's types.
std::string two_layers(const std::string& types) {
  return R"({"layers": [{"name": "a.0", "parameters": 3200, "types": )" + types +
         R"(}, {"name": "a.1", "parameters": 3200, "types": {"q8_0": {"cost": 1}, "q4_0": {"cost": 2}}}]})";
}

}  // namespace

TEST_CASE("plan: a file that reads back, a table, and the same as JSON") {
  const program::Scratch scratch;
  const std::string output = (scratch.path() / "plan.json").string();
  const auto text = program::run({"plan", "--cost", flux_dev_costs, "--bits", "5", "--output", output});
  INFO(text.err);
  REQUIRE(text.code == 0);
  CHECK_THAT(text.out, Catch::StartsWith("57 layers, 11,834,228,736 parameters: ") &&
                           Catch::Contains("no plan is better (proved)") && Catch::Contains("greedy") &&
                           Catch::Contains("12,573,868,032 (11.7 GiB)") &&
                           Catch::Contains("(beyond the limit)"));
  CHECK_THAT(text.err, Catch::Contains("left out: q4_1_patched"));
  const precast::casting::Plan plan = precast::casting::read_plan(output);
  CHECK(plan.types.size() == 57);
  CHECK(*plan.bytes <= 7'396'392'960);
  CHECK(*plan.gap == 0);

  const auto json = program::run({"plan", "-c", flux_dev_costs, "--budget", "7396392960", "--json", "-q"});
  INFO(json.err);
  REQUIRE(json.code == 0);
  CHECK(json.err.empty());
  CHECK(precast::casting::parse_plan(json.out, "stdout") == plan);
  CHECK(json.json()["parameters"] == 11'834'228'736);
  CHECK(json.json()["sizes"][0]["method"] == "plan");
  CHECK(json.json()["sizes"][1]["method"] == "greedy");
  CHECK(json.json()["sizes"][1]["ratio"] > 1.0);

  const auto by_error = program::run(
      {"plan", "--cost", flux_dev_costs, "--error", std::to_string(*plan.error + 1e-3), "--json"});
  REQUIRE(by_error.code == 0);
  CHECK(by_error.json()["bytes"] == *plan.bytes);
  // Any number is an error that is allowed: then every layer gets its smallest format.
  const auto by_any = program::run({"plan", "--cost", flux_dev_costs, "--error", "1.7e308", "--json"});
  REQUIRE(by_any.code == 0);
  CHECK(by_any.json()["bits"].get<double>() == 2.625);

  const auto two =
      program::run({"plan", "--cost", flux_dev_costs, "--bits", "4", "--types", "q2_k,q8_0", "--json"});
  REQUIRE(two.code == 0);
  const auto read = two.json();
  for (const auto& [layer, type] : read["types"].items()) CHECK((type == "q2_k" || type == "q8_0"));
}

TEST_CASE("plan: that no kind of file holds the plan is said") {
  const program::Scratch scratch;
  const std::string costs = scratch.file("c.json", two_layers(R"({"fp8_e4m3": {"cost": 1}})"));
  const auto mixed = program::run({"plan", "--cost", costs, "--bits", "6.3", "--json", "-q"});
  CHECK(mixed.code == 0);
  CHECK_THAT(
      mixed.err,
      Catch::Contains("no file has both q4_0, which needs .gguf, and fp8_e4m3, which needs .safetensors"));
  const auto of_one_kind =
      program::run({"plan", "--cost", scratch.file("d.json", two_layers(R"({"q8_0": {"cost": 1}})")),
                    "--bits", "9", "-q"});
  CHECK(of_one_kind.code == 0);
  CHECK(of_one_kind.err.empty());
}

TEST_CASE("plan: what it refuses is one line, and nothing is written") {
  const program::Scratch scratch;
  const std::string output = (scratch.path() / "plan.json").string();
  struct Case {
    Words arguments;
    int code;
    std::string says;
  };
  const auto broken = [&](const std::string& types) { return scratch.file("c.json", two_layers(types)); };
  const std::vector<Case> cases{
      {{"plan"}, 2, "--cost is required"},
      {{"plan", "--cost", flux_dev_costs}, 2, "give --budget, --bits or --error"},
      {{"plan", "--cost", ""}, 2, "--cost is empty"},
      {{"plan", "--cost", flux_dev_costs, "--bits", "5", "--budget", "1GiB"}, 2, "excludes"},
      {{"plan", "--cost", flux_dev_costs, "--bits", "5", "--error", "1"}, 2, "excludes"},
      {{"plan", "--cost", flux_dev_costs, "--budget", "much"},
       2,
       "--budget is 'much': it takes a size above 0"},
      {{"plan", "--cost", flux_dev_costs, "--bits", "0"}, 2, "--bits is '0'"},
      {{"plan", "--cost", flux_dev_costs, "--error", "-1"}, 2, "--error is '-1'"},
      {{"plan", "--cost", flux_dev_costs, "--bits", "5", "--types", "q8_0,,q4_k"},
       2,
       "--types is 'q8_0,,q4_k'"},
      {{"plan", "--cost", flux_dev_costs, "--bits", "5", "--types", "q9"},
       2,
       "has no type 'q9': it has q8_0, fp8_e4m3, q6_k"},
      {{"plan", "--cost",
        scratch.file("n.json", two_layers(R"({"q8_0": {"cost": 1}, "q4_1": {"loss": 2, "bits": 5}})")),
        "--bits", "9", "--types", "q4_1,q8_0"},
       2,
       "n.json has no finite 'cost' of q4_1 in any layer: take it out of --types"},
      {{"plan", "--cost", flux_dev_costs, "--bits", "5", "--measure", "costs"}, 2, "did you mean cost?"},
      {{"plan", "--cost", flux_dev_costs, "--bits", "5", "--output", "-"}, 2, "with --json"},
      {{"plan", "--cost", flux_dev_costs, "--bits", "2.6"},
       2,
       "the least possible is 3,883,106,304 bytes (2.625 bits)"},
      {{"plan", "--cost", flux_dev_costs, "--budget", "1GiB"},
       2,
       "the least possible is 3,883,106,304 bytes (2.625 bits)"},
      {{"plan", "--cost", flux_dev_costs, "--error", "780"}, 2, "the least possible is 780.09"},
      {{"plan", "--cost", flux_dev_costs, "--bits", "5", "--measure", "relative_cost"},
       1,
       "layer 'transformer_blocks.0': no type"},
      {{"plan", "--cost", flux_dev_costs, "--bits", "9", "--measure", "loss"},
       1,
       "layer 'transformer_blocks.18': no type"},
      {{"plan", "--cost", "/nowhere/c.json", "--bits", "5"}, 1, "/nowhere/c.json"},
      {{"plan", "--cost", broken("{}"), "--bits", "5"},
       1,
       "layer 'a.0': no type has a finite 'cost': leave the layer out"},
      {{"plan", "--cost", scratch.file("l.json", two_layers(R"({"q8_0": {"estimate": 1, "loss": 2}})")),
        "--bits", "9"},
       1,
       "no type has a finite 'cost': plan by a number that it has, with --measure loss or estimate"},
      {{"plan", "--cost", scratch.file("d.json", two_layers(R"({"q8_0": {"cost": -1}})")), "--bits", "5"},
       1,
       "d.json: key 'layers[0].types.q8_0.cost': must be a number of at least 0"},
      {{"plan", "--cost", scratch.file("e.json", "{\"layers\": 3}"), "--bits", "5"},
       1,
       "e.json: key 'layers'"},
      {{"plan", "--cost", flux_dev_costs, "--bits", "5", "--output", "/nowhere/plan.json"},
       1,
       "/nowhere/plan.json"},
  };
  for (const Case& wrong : cases) {
    const auto result = program::run(wrong.code == 1 && wrong.arguments.back() != "/nowhere/plan.json"
                                         ? with(wrong.arguments, {"--output", output})
                                         : wrong.arguments);
    INFO(wrong.says << " | " << result.err);
    CHECK(result.code == wrong.code);
    CHECK(result.out.empty());
    CHECK(result.one_line_error());
    CHECK_THAT(result.err, Catch::Contains(wrong.says));
  }
  CHECK_FALSE(std::filesystem::exists(output));
}

TEST_CASE("plan and report do not write over the cost file that they read") {
  const program::Scratch scratch;
  const std::string file = scratch.file("costs.csv", program::content(flux_dev_costs));
  const std::string before = program::content(file), link = (scratch.path() / "link.csv").string();
  std::filesystem::create_symlink(file, link);
  for (const Words& words : {Words{"plan", "--cost", file, "--bits", "5", "--output", file},
                             Words{"plan", "--cost", file, "--bits", "5", "--output", link},
                             Words{"report", "--cost", file, "--output", link}}) {
    const auto refused = program::run(words);
    INFO(refused.err);
    CHECK(refused.code == 2);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err, Catch::Contains("is read by this command"));
    CHECK(program::content(file) == before);
  }
}

TEST_CASE("plan: the model that --verify runs is not written over") {
  const program::Scratch scratch;
  const std::string costs = scratch.file("costs.json", two_layers(R"({"q8_0": {"cost": 1}})")),
                    samples = scratch.file("samples.safetensors", "samples"),
                    weights = scratch.file("weights.safetensors", "weights");
  const auto refused = program::run({"plan", "--cost", costs, "--bits", "9", "--verify", "--samples", samples,
                                     "--transformer", weights, "--output", weights});
  INFO(refused.err);
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("is read by this command"));
  CHECK(program::content(weights) == "weights");
}

TEST_CASE("plan: samples, policy, model and device are of --verify") {
  for (const Words& words :
       {Words{"--samples", "s.safetensors"}, Words{"--policy", "fast"}, Words{"--model", "shapes"},
        Words{"--vae", "ae.safetensors"}, Words{"--device", "cpu"}}) {
    Words all{"plan", "--cost", flux_dev_costs, "--bits", "5"};
    all.insert(all.end(), words.begin(), words.end());
    const auto refused = program::run(all);
    INFO(refused.err);
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, Catch::Contains("--verify"));
  }
}

}  // namespace planning
