// precast autocast, as a user runs it.
#include <set>
#include <string>
#include <utility>

#include <catch2/catch.hpp>
#include <cli/program.hpp>
#include <support/autocast_list.hpp>

#include <precast/policy/autocast.hpp>
#include <precast/policy/dtype_flow.hpp>

using namespace precast;
using precast::testing::autocast_list_of;
using program::Outcome;

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
