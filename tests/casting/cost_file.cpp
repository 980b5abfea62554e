// Cost files and plans: what is read, what reads back, and every malformed one refused in one line.
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <casting/cost_file.hpp>
#include <casting/layer_order.hpp>
#include <casting/merge_costs.hpp>
#include <casting/plan_file.hpp>
#include <catch2/catch.hpp>
#include <formats/registry.hpp>
#include <support/temporary_folder.hpp>

#include <precast/error.hpp>

namespace cost_files {
namespace {

using namespace precast;
using namespace precast::casting;

/// What the reader says of a text, or "" where it takes it.
template <class Parse>
std::string refusal(const Parse& parse, const std::string& text) {
  try {
    parse(text, "some.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

struct Malformed {
  std::string text;
  std::vector<std::string> said;  ///< what the message must hold
};

template <class Parse>
void check_refusals(const Parse& parse, const std::vector<Malformed>& cases) {
  for (const Malformed& malformed : cases) {
    INFO(malformed.text.substr(0, 200));
    const std::string message = refusal(parse, malformed.text);
    INFO(message);
    CHECK(message.starts_with("some.json: "));
    CHECK(message.find('\n') == std::string::npos);
    for (const std::string& words : malformed.said) CHECK_THAT(message, Catch::Contains(words));
  }
}

std::string with_layer(const std::string& layer) { return R"({"layers": [)" + layer + "]}"; }
std::string with_type(const std::string& numbers) {
  return with_layer(R"({"name": "a.0", "parameters": 64, "types": {"q8_0": )" + numbers + "}}");
}

}  // namespace

TEST_CASE("a cost file reads back as what was written") {
  CostFile file;
  file.model = "shapes";
  file.samples = 24;
  const std::optional<double> none;
  file.layers.push_back(
      {"blocks.0", 1024, {{"q8_0", {8.5, 0.25, 1e-9, 0.1, 0.2}}, {"q2_k", {2.625, 7.0, none, none, none}}}});
  file.layers.push_back({"blocks.1", std::nullopt, {{"fp8_e5m2", {8.0, INFINITY, 0.0, none, none}}}});
  file.layers.push_back({"ä \"quoted\"", 7, {}});
  CHECK(parse_cost_file(cost_file_text(file), "x") == file);
  CHECK_FALSE(file.has_estimates());
  file.layers[0].types["q8_0"].estimate = 0.5;
  file.estimates = "importance 0123456789abcdef, by the reference encoder";
  CHECK(file.has_estimates());
  CHECK(parse_cost_file(cost_file_text(file), "x") == file);
  CHECK(cost_file_text(file).find("missing") == std::string::npos);
  file.missing = {"blocks.3", "ä"};
  CHECK(parse_cost_file(cost_file_text(file), "x") == file);
  CHECK(cost_file_text(file).find("order") == std::string::npos);
  file.order = {"blocks.1", "blocks.0", "blocks.3"};
  CHECK(parse_cost_file(cost_file_text(file), "x") == file);
  CHECK(file.types() == std::vector<std::string>{"q8_0", "fp8_e5m2", "q2_k"});
  CHECK(file.bits_of("q2_k") == 2.625);
  file.layers.push_back({"blocks.2", 3072, {{"q2_k", {4.5, 1.0, none, none, none}}}});
  CHECK(file.bits_of("q2_k") == (1024 * 2.625 + 3072 * 4.5) / 4096);  // where a layer has a fallback
  CHECK(file.bits_of("bf16") == 16);
  CHECK(file.bits_of("nonsense") == std::nullopt);
  file.layers[0].types["q2_k"].loss = NAN;
  CHECK(std::isnan(*parse_cost_file(cost_file_text(file), "x").layers[0].types["q2_k"].loss));
}

TEST_CASE("unknown keys of a cost file are ignored, and keys that are not there are unknown") {
  const CostFile file = parse_cost_file(
      R"({"future": [1], "samples": null, "layers": [{"name": "a", "shape": [3], "types": {"x9": {"ssim": "?"}}},
          {"name": "b"}]})",
      "x");
  CHECK(file.model == std::nullopt);
  CHECK(file.samples == std::nullopt);
  REQUIRE(file.layers.size() == 2);
  CHECK(file.layers[0].parameters == std::nullopt);
  CHECK(file.layers[0].types.at("x9") == TypeCost{});
  CHECK(file.layers[1].types.empty());
  for (const char* settings : {R"("samples 0123, f32")", "{}", R"({"biases": 3})", "[1]"}) {
    INFO(settings);
    const std::string text = R"({"layers": [{"name": "a"}], "settings": )" + std::string(settings) + "}";
    CHECK_FALSE(parse_cost_file(text, "x").settings);
  }
}

TEST_CASE("malformed cost files are refused in one line that names file, layer and key") {
  const std::string deep = "{\"layers\": " + std::string(100, '[') + std::string(100, ']') + "}";
  check_refusals(
      [](const std::string& text, const char* path) { return parse_cost_file(text, path); },
      {
          {"", {"not valid JSON, but empty: get"}},
          {"{", {"not valid JSON, because it is cut off after byte 1: get"}},
          {"{]", {"not valid JSON, at byte 2 of 2: get"}},
          {"[]", {"must hold a JSON object", "a list"}},
          {"3", {"must hold a JSON object", "3"}},
          {"layer,q8_0\n", {"is not JSON: give a cost file (precast cost)"}},
          {"\n [nonsense", {"not valid JSON"}},
          {"{}", {"'layers'", "is missing"}},
          {R"({"layers": null})", {"'layers'", "is null"}},
          {R"({"layers": {}})", {"'layers'", "must be a list", "an object"}},
          {R"({"layers": []})", {"'layers'", "is empty"}},
          {R"({"layers": "blocks"})", {"'layers'", "must be a list"}},
          {R"({"layers": [{"name": "a"}], "missing": "b"})", {"'missing'", "must be a list"}},
          {R"({"layers": [{"name": "a"}], "missing": ["b", 3]})", {"'missing[1]'", "must be a string"}},
          {R"({"layers": [{"name": "a"}], "order": {"a": 0}})", {"'order'", "must be a list"}},
          {deep, {"nested deeper"}},
          {R"({"layers": [{"name": "a"}], "layers": []})", {"'layers'", "twice"}},
          {std::string("{\"layers\": [{\"name\": \"a\"}]}\0", 29), {"not valid JSON"}},
          {with_layer("7"), {"'layers[0]'", "must be an object", "7"}},
          {with_layer("{}"), {"'layers[0].name'", "missing"}},
          {with_layer(R"({"name": ""})"), {"'layers[0].name'", "empty"}},
          {with_layer(R"({"name": 4})"), {"'layers[0].name'", "must be a string"}},
          {with_layer(R"({"name": "a"}, {"name": "a"})"), {"'layers[1].name'", "'a'", "another layer"}},
          {with_layer(R"({"name": "a", "parameters": 0})"), {"'layers[0].parameters'", "not 0"}},
          {with_layer(R"({"name": "a", "parameters": -4})"), {"'layers[0].parameters'", "-4"}},
          {with_layer(R"({"name": "a", "parameters": 1.5})"), {"'layers[0].parameters'", "1.5"}},
          {with_layer(R"({"name": "a", "parameters": 18446744073709551615})"),
           {"'layers[0].parameters'", "18446744073709551615"}},
          {with_layer(R"({"name": "a", "parameters": "12"})"), {"'layers[0].parameters'", "\"12\""}},
          {with_layer(R"({"name": "a", "parameters": 200000000000000},
                         {"name": "b", "parameters": 100000000000000})"),
           {"'layers[1].parameters'", "281474976710656"}},
          {with_layer(R"({"name": "a", "types": ["q8_0"]})"), {"'layers[0].types'", "a list"}},
          {with_layer(R"({"name": "a", "types": {"": {}}})"), {"'layers[0].types'", "without a name"}},
          {with_layer(R"({"name": "a", "types": {"q8_0": {}, "q8_0": {}}})"), {"'q8_0'", "twice"}},
          {with_type("4"), {"'layers[0].types.q8_0'", "must be an object"}},
          {with_type(R"({"bits": 0})"), {"'layers[0].types.q8_0.bits'", "not 0"}},
          {with_type(R"({"bits": 65})"), {"'layers[0].types.q8_0.bits'", "not 65"}},
          {with_type(R"({"bits": "inf"})"), {"'layers[0].types.q8_0.bits'", "\"inf\""}},
          {with_type(R"({"cost": -1e-9})"), {"'layers[0].types.q8_0.cost'", "-1e-09"}},
          {with_type(R"({"cost": "small"})"), {"'layers[0].types.q8_0.cost'", "\"small\""}},
          {with_type(R"({"cost": [1]})"), {"'layers[0].types.q8_0.cost'", "a list"}},
          {with_type(R"({"loss": true})"), {"'layers[0].types.q8_0.loss'", "true"}},
          {with_type(R"({"relative_cost": "-inf"})"), {"'layers[0].types.q8_0.relative_cost'", "\"-inf\""}},
          {with_type(R"({"relative_loss": {}})"), {"'layers[0].types.q8_0.relative_loss'", "an object"}},
          {with_type(R"({"cost": 1e999})"), {"out of range"}},
          {with_type(R"({"cost": NaN})"), {"not valid JSON"}},
          {R"({"model": 3, "layers": [{"name": "a"}]})", {"'model'", "must be a string"}},
          {R"({"samples": 0, "layers": [{"name": "a"}]})", {"'samples'", "not 0"}},
          {R"({"samples": "many", "layers": [{"name": "a"}]})", {"'samples'", "\"many\""}},
          {R"({"settings": {"granularity": 3, "biases": true}, "layers": [{"name": "a"}]})",
           {"'settings.granularity'", "must be a string"}},
          {with_layer("{\"name\": \"a\", \"types\": {\"q\\n8\": 1}}"), {"'layers[0].types.q?8'"}},
      });
  CHECK_THROWS_AS(read_cost_file("/nowhere/cost.json"), InputError);
}

TEST_CASE("two runs that write one cost file take nothing from each other") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "cost.json";
  const auto measured = [](const std::vector<std::string>& layers, const std::string& policy) {
    CostFile file{"shapes", 2, CostConditions{.granularity = "layer", .policy = policy}, {}, {}};
    file.order = {"a.0", "a.1", "a.2", "a.3"};
    for (const std::string& layer : layers)
      file.layers.push_back({layer, 64, {{"q8_0", {8.5, 1.0, {}, {}, {}}}}});
    return file;
  };
  SharedCostFile one(path), two(path);
  one.write(measured({"a.0"}, "f32"));
  two.write(measured({"a.2"}, "f32"));
  one.write(measured({"a.0", "a.1"}, "f32"));
  CHECK(read_cost_file(path) == measured({"a.0", "a.1", "a.2"}, "f32"));
  two.write(measured({"a.2", "a.3"}, "f32"));
  const CostFile all = measured({"a.0", "a.1", "a.2", "a.3"}, "f32");
  CHECK(read_cost_file(path) == all);
  // What was there when a run began is that run's to replace.
  SharedCostFile later(path);
  later.write(measured({"a.0"}, "bf16"));
  CHECK(read_cost_file(path) == measured({"a.0"}, "bf16"));
  // Another measurement's numbers stay.
  CHECK_THROWS_WITH(two.write(all),
                    Catch::StartsWith(path.string() + ": another run is writing it as well") &&
                        Catch::Contains("\"settings\"") && Catch::Contains("--output"));
  CHECK(read_cost_file(path) == measured({"a.0"}, "bf16"));
}

TEST_CASE("a cost file is written where a link leads, whether a file is there or not") {
  const testing::TemporaryFolder folder;
  const auto link = folder.path() / "link.json", path = folder.path() / "cost.json";
  std::filesystem::create_symlink("cost.json", link);
  CostFile measured{"shapes", 2, CostConditions{.granularity = "layer"}, {}, {}};
  SharedCostFile file(link);
  for (const char* layer : {"a.0", "a.1"}) {
    measured.layers.push_back({layer, 64, {{"q8_0", {8.5, 1.0, {}, {}, {}}}}});
    file.write(measured);
    CHECK(read_cost_file(path) == measured);
  }
  CHECK(std::filesystem::is_symlink(link));
}

TEST_CASE("two runs that write one cost file at once lose nothing") {
  const testing::TemporaryFolder folder;
  const auto path = folder.path() / "cost.json";
  constexpr int layers = 40;
  SharedCostFile files[]{SharedCostFile(path), SharedCostFile(path)};
  std::vector<std::thread> runs;
  for (int run = 0; run < 2; ++run)
    runs.emplace_back([&files, run] {
      CostFile measured{"shapes", 2, CostConditions{.granularity = "layer"}, {}, {}};
      for (int layer = 0; layer < layers; ++layer) {
        measured.layers.push_back(
            {"a." + std::to_string(2 * layer + run), 64, {{"q8_0", {8.5, 1.0, {}, {}, {}}}}});
        files[run].write(measured);
      }
    });
  for (std::thread& run : runs) run.join();
  CHECK(read_cost_file(path).layers.size() == 2 * layers);
}

TEST_CASE("a plan reads back as what was written, and says the format of a tensor") {
  Plan plan;
  plan.types = {{"blocks.10", "q4_k"}, {"blocks.2", "q8_0"}, {"blocks.1", "bf16"}, {"blocks.1.ff", "q2_k"}};
  plan.bits = 5.25;
  plan.bytes = 123456789012;
  plan.error = 0.1;
  plan.gap = 0;
  CHECK(parse_plan(plan_text(plan), "x") == plan);
  CHECK(plan.model_in_words() == "a model that it does not name");
  plan.model = "FLUX.1-dev";
  CHECK(parse_plan(plan_text(plan), "x") == plan);
  CHECK(plan.model_in_words() == "the model 'FLUX.1-dev'");
  CHECK(plan.types.begin()->first == "blocks.1");
  CHECK(plan.types.rbegin()->first == "blocks.10");
  CHECK(plan.type_of("blocks.1.attn.to_q.weight") == "bf16");
  CHECK(plan.type_of("blocks.10.attn.to_q.weight") == "q4_k");
  CHECK(plan.type_of("blocks.1.ff.weight") == "q2_k");
  CHECK(plan.type_of("blocks.2") == "q8_0");
  CHECK(plan.type_of("blocks.3.ff.weight") == std::nullopt);
  CHECK(plan.type_of("blocks") == std::nullopt);
  const Plan bare = parse_plan(R"({"types": {"a": "q8_0"}, "method": "by hand", "error": null})", "x");
  CHECK(bare.error == std::nullopt);
}

TEST_CASE("cost files and plans name formats in either case, as options do") {
  const CostFile file = parse_cost_file(
      R"({"layers": [{"name": "a", "types": {"Q4_K": {"cost": 1}, "FP8_E4M3": {"cost": 2}, "OWN": {"cost": 3}}}]})",
      "x");
  CHECK(file.layers[0].types.at("q4_k").cost == 1.0);
  CHECK(file.layers[0].types.at("fp8_e4m3").cost == 2.0);
  CHECK(file.layers[0].types.contains("OWN"));  // which this build does not know
  CHECK(parse_plan(R"({"types": {"a": "Q4_K"}})", "x").types.at("a") == "q4_k");
  CHECK_THROWS_WITH(parse_cost_file(R"({"layers": [{"name": "a", "types": {"Q4_K": {}, "q4_k": {}}}]})", "x"),
                    Catch::Contains("'layers[0].types.q4_k': is there in upper and in lower case"));
}

TEST_CASE("malformed plans are refused in one line that names file, layer and key") {
  check_refusals([](const std::string& text, const char* path) { return parse_plan(text, path); },
                 {
                     {"", {"not valid JSON"}},
                     {"nonsense", {"is not JSON: give a plan (precast plan)"}},
                     {"[1]", {"must hold a JSON object"}},
                     {"{}", {"'types'", "is missing"}},
                     {R"({"types": null})", {"'types'", "is null"}},
                     {R"({"types": {}})", {"'types'", "is empty"}},
                     {R"({"types": ["q8_0"]})", {"'types'", "a list"}},
                     {R"({"types": "q8_0"})", {"'types'", "\"q8_0\""}},
                     {R"({"types": {"": "q8_0"}})", {"'types'", "without a name"}},
                     {R"({"types": {"a": 8}})", {"'types.a'", "not 8"}},
                     {R"({"types": {"a": null}})", {"'types.a'", "is null"}},
                     {R"({"types": {"a": {"type": "q8_0"}}})", {"'types.a'", "an object"}},
                     {R"({"types": {"a": "q9_x"}})", {"'types.a'", "'q9_x'", "q8_0, "}},
                     {R"({"types": {"a": ""}})", {"'types.a'", "there is no format ''"}},
                     {R"({"types": {"a": "tf32"}})", {"'types.a'", "'tf32'"}},
                     {R"({"types": {"a": "q8_0", "a": "q4_0"}})", {"'a'", "twice"}},
                     {R"({"types": {"a": "q8_0"}, "types": {"a": "q4_0"}})", {"'types'", "twice"}},
                     {R"({"types": {"a": "q8_0"}, "bits": -1})", {"'bits'", "-1"}},
                     {R"({"types": {"a": "q8_0"}, "bits": 65})", {"'bits'", "65"}},
                     {R"({"types": {"a": "q8_0"}, "bits": "8"})", {"'bits'", "\"8\""}},
                     {R"({"types": {"a": "q8_0"}, "bytes": 1.5})", {"'bytes'", "1.5"}},
                     {R"({"types": {"a": "q8_0"}, "bytes": -1})", {"'bytes'", "-1"}},
                     {R"({"types": {"a": "q8_0"}, "bytes": 1e30})", {"'bytes'", "1e+30"}},
                     {R"({"types": {"a": "q8_0"}, "error": -0.5})", {"'error'", "-0.5"}},
                     {R"({"types": {"a": "q8_0"}, "error": "inf"})", {"'error'", "\"inf\""}},
                     {R"({"types": {"a": "q8_0"}, "gap": false})", {"'gap'", "false"}},
                     {R"({"types": {"a": "q8_0"}, "gap": -1})", {"'gap'", "-1"}},
                     {R"({"types": {"a": "q8_0"})", {"not valid JSON"}},
                     {R"({"types": {"a\u0007": 1}})", {"'types.a?'"}},
                 });
  CHECK_THROWS_AS(read_plan("/nowhere/plan.json"), InputError);
}

TEST_CASE("cost files and plans that are cut off anywhere are refused in one line") {
  CostFile file;
  file.model = "shapes";
  file.samples = 24;
  file.layers.push_back({"blocks.0", 1024, {{"q8_0", {8.5, 0.25, 1e-9, 0.1, 0.2}}}});
  Plan plan;
  plan.types = {{"blocks.0", "q8_0"}, {"blocks.1.attn.to_q", "fp8_e4m3_row"}};
  plan.model = "shapes";
  plan.bits = 5.25;
  plan.bytes = 123456;
  const auto check = [](const std::string& text, const auto& parse) {
    const std::size_t end = text.rfind('}');
    REQUIRE(end > 100);
    for (std::size_t length = 0; length <= end; ++length) {
      INFO(text.substr(0, length));
      CHECK_THAT(refusal(parse, text.substr(0, length)),
                 Catch::StartsWith("some.json: ") && Catch::Contains("not valid JSON"));
    }
    CHECK(refusal(parse, text).empty());
  };
  check(cost_file_text(file), [](const std::string& text, const char* path) { parse_cost_file(text, path); });
  check(plan_text(plan), [](const std::string& text, const char* path) { parse_plan(text, path); });
}

TEST_CASE("layers are counted as people count") {
  const LayerOrder before;
  const std::vector<std::string> rising{"",        "a",         "a.2", "a.2.b", "a.10",
                                        "a.10.b2", "a.010.b10", "b.0", "b.007", "b.18446744073709551616",
                                        "b.a"};
  for (std::size_t i = 0; i < rising.size(); ++i)
    for (std::size_t j = 0; j < rising.size(); ++j) {
      INFO(rising[i] << " and " << rising[j]);
      CHECK(before(rising[i], rising[j]) == (i < j));
    }
  CHECK(before("a.07", "a.7") != before("a.7", "a.07"));  // two names are never the same key
}

TEST_CASE("the formats of a plan are those of files") {
  CHECK(formats::format_named("q4_k")->bits == 4.5);
  CHECK(formats::format_named("q6_k")->bits == 6.5625);
  CHECK(formats::format_named("q3_k")->bits == 3.4375);
  CHECK(formats::format_named("q2_k")->bits == 2.625);
  CHECK(formats::format_named("mxfp4")->bits == 4.25);
  CHECK(formats::format_named("fp8_e4m3")->bits == 8);
  CHECK(formats::format_named("bf16")->bits == 16);
  CHECK(formats::format_named("f32")->bits == 32);
  CHECK(!formats::format_named("tf32"));
  for (std::size_t i = 1; i < formats::all_formats().size(); ++i)
    CHECK(formats::all_formats()[i - 1].bits >= formats::all_formats()[i].bits);
}

}  // namespace cost_files
