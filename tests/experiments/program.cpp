// precast autocast and precast experiment, as a user runs them.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <cli/program.hpp>
#include <experiments/experiment.hpp>
#include <support/autocast_list.hpp>

#include <precast/policy/autocast.hpp>
#include <precast/policy/dtype_flow.hpp>
#include <precast/policy/paths.hpp>

using namespace precast;
using precast::testing::autocast_list_of;
using program::Outcome;

namespace {

constexpr bool has_experiments = precision_compiled(precision_of<f32>) &&
                                 precision_compiled(precision_of<bf16>) &&
                                 precision_compiled(precision_of<f16>) && compiled_preset == "all";

}  // namespace

TEST_CASE("autocast prints the lists of a device by name") {
  for (const auto& [device, name] :
       {std::pair(AutocastDevice::cuda, "cuda"), std::pair(AutocastDevice::cpu, "cpu")}) {
    INFO(name);
    const Outcome outcome = program::run({"autocast", "--device", name, "--json"});
    REQUIRE(outcome.code == 0);
    const nlohmann::json json = outcome.json();
    CHECK(json["device"] == name);
    // What scripts read: the names of the lists are promised.
    for (const char* list : {"lower_precision", "f32", "f32_set_dtype", "promote", "banned"}) {
      INFO(list);
      REQUIRE(json[list].is_array());
      for (const auto& op : json[list]) CHECK(op.is_string());
    }
    std::set<std::string> seen;
    for (const AutocastList list : autocast_lists)
      for (const std::string op : json.at(std::string(to_string(list)))) {
        INFO(op);
        CHECK(seen.insert(op).second);
        CHECK(autocast_list_of(op, device) == list);
        CHECK(json["op_classes"].contains(op));
      }
    for (const AutocastOperator& op : autocast_operators)
      if (op.on(device) != AutocastList::none) CHECK(seen.contains(std::string(op.base_name())));
    CHECK(json["flow"].size() == dtype_flow_steps.size());
    CHECK(json["flow"][4]["value"] == "blocks.0.attn.qkv");
    CHECK(json["flow"][4]["autocast"] == "lower");
    CHECK(json["flow"][4]["policies"]["amp-bf16"]["storage"] == "f32");
    CHECK(json["flow"][4]["policies"]["amp-bf16"]["operand"] == "bf16");
    CHECK(json["flow"][15]["policies"]["f16"]["result"] == "f32");
  }
  const Outcome text = program::run({"autocast"});
  CHECK(text.code == 0);
  CHECK_THAT(text.out, Catch::Contains("lower_precision (") && Catch::Contains("Matmul: ") &&
                           Catch::Contains("blocks.0.mlp.gelu") && Catch::Contains("naive-f16"));
  const Outcome wrong = program::run({"autocast", "--device", "tpu"});
  CHECK(wrong.code == 2);
  CHECK(wrong.one_line_error());
}

TEST_CASE("experiment prints one, all, and refuses others") {
  if (!has_experiments) {
    const Outcome refused = program::run({"experiment", "accumulation"});
    CHECK(refused.code == 1);
    CHECK(refused.one_line_error());
    return;
  }
  const Outcome one = program::run({"experiment", "accumulation"});
  REQUIRE(one.code == 0);
  CHECK_THAT(one.out, Catch::Contains("10.0001") && Catch::Contains("9.9531") && Catch::Contains("10.0021") &&
                          !Catch::Contains(" no\n"));
  const nlohmann::json all = program::run({"experiment", "all", "--json"}).json();
  REQUIRE(all["experiments"].size() == experiments::names().size());
  for (std::size_t i = 0; i < all["experiments"].size(); ++i) {
    const nlohmann::json& each = all["experiments"][i];
    CHECK(each["name"] == experiments::names()[i]);
    for (const nlohmann::json& stated : each["stated"]) CHECK(stated["agrees"] == true);
    for (const nlohmann::json& line : each["plot"]["lines"]) CHECK(line["x"].size() == line["y"].size());
  }
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"experiment"},
                                                    {"experiment", "acumulation"},
                                                    {"experiment", "all", "--html"}}) {
    const Outcome wrong = program::run(arguments);
    CHECK(wrong.code == 2);
    CHECK(wrong.one_line_error());
  }
  const auto names = experiments::names();
  CHECK(std::vector<std::string>(names.begin(), names.end()) ==
        std::vector<std::string>{"underflow", "stagnation", "softmax", "softplus", "accumulation", "overflow",
                                 "loss-scaling"});
  CHECK_THAT(program::run({"experiment", "acumulation"}).err, Catch::Contains("accumulation"));
  const Outcome nowhere = program::run({"experiment", "softmax", "--html", "/no/such/folder/page.html"});
  CHECK(nowhere.code == 1);
  CHECK(nowhere.one_line_error());
  CHECK(nowhere.out.empty());
}

TEST_CASE("the page of experiments holds everything and asks for nothing") {
  if (!has_experiments) return;
  const program::Scratch scratch;
  const std::string file = (scratch.path() / "page.html").string();
  const Outcome outcome = program::run({"experiment", "all", "--html", file});
  REQUIRE(outcome.code == 0);
  const std::string page = program::content(file);
  for (const char* outside : {"src=", "<link", "<script", "url(", "@import", "https:"})
    CHECK_THAT(page, !Catch::Contains(outside));
  CHECK_THAT(page, Catch::Contains("prefers-color-scheme: dark"));
  for (const std::string_view name : experiments::names()) {
    INFO(name);
    CHECK_THAT(page, Catch::Contains("<h2 id=\"" + std::string(name) + "\">"));
    const std::size_t plot = page.find("<svg id=\"" + std::string(name) + "-plot\"");
    REQUIRE(plot != std::string::npos);
    const std::string drawn = page.substr(plot, page.find("</svg>", plot) - plot);
    for (const char* no_place : {"nan", "Minf", "Linf", "-inf", "\"inf"})
      CHECK_THAT(drawn, !Catch::Contains(no_place));
    CHECK_THAT(drawn, Catch::Contains("<path d=\"M"));
  }
  const Outcome piped = program::run({"experiment", "softmax", "--html", "-"});
  CHECK(piped.code == 0);
  CHECK(piped.out.starts_with("<!DOCTYPE html>"));
}
