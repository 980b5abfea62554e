// The table of autocast's operators is what the dispatcher of PyTorch says (golden/make_autocast.py).
#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <support/autocast_list.hpp>

#include <precast/policy/autocast.hpp>
#include <precast/policy/dtype_flow.hpp>

using namespace precast;
using precast::testing::autocast_list_of;

namespace {

nlohmann::json golden() {
  std::ifstream file(PRECAST_SOURCE_DIR "/tests/golden/expected/autocast.json");
  REQUIRE(file);
  return nlohmann::json::parse(file);
}

bool is_16_bits(const nlohmann::json& dtype) { return dtype == "bfloat16" || dtype == "float16"; }

}  // namespace

TEST_CASE("autocast's operators are those of PyTorch's dispatcher") {
  const nlohmann::json expected = golden();
  CHECK(expected["torch"].get<std::string>().starts_with(autocast_torch_version));
  for (const auto& [device, name] :
       {std::pair(AutocastDevice::cuda, "cuda"), std::pair(AutocastDevice::cpu, "cpu")}) {
    const nlohmann::json& operators = expected[name]["operators"];
    CHECK(operators.size() > 100);
    std::size_t found = 0;
    for (const AutocastOperator& op : autocast_operators) {
      INFO(name << " " << op.name);
      const bool known = operators.contains(std::string(op.name));
      CHECK(known == (op.on(device) != AutocastList::none));
      if (!known) continue;
      ++found;
      CHECK(operators[std::string(op.name)] == to_string(op.on(device)));
    }
    CHECK(found == operators.size());
  }
}

TEST_CASE("an operator of autocast stands in the table once, and its overloads in one list") {
  std::set<std::string_view> names;
  for (const AutocastOperator& op : autocast_operators) {
    INFO(op.name);
    CHECK(names.insert(op.name).second);
    bool known_class = op.op.empty();
    AllOpClasses::for_each([&]<class Op>(Op) { known_class = known_class || op.op == Op::name; });
    CHECK(known_class);
    for (const AutocastDevice device : {AutocastDevice::cuda, AutocastDevice::cpu})
      if (op.on(device) != AutocastList::none)
        CHECK(autocast_list_of(op.base_name(), device) == op.on(device));
  }
}

TEST_CASE("what sources say of autocast and its lists do not") {
  const nlohmann::json expected = golden();
  // "Kept in f32": batch norm and small products are not; a mean is not, nor is a variance.
  for (const char* device : {"cuda", "cpu"})
    for (const char* claim :
         {"batch_norm", "matmul of 2x2 in f32", "matmul of 1x1 in f32", "mean", "var", "gelu", "silu"}) {
      INFO(device << " " << claim);
      CHECK(expected[device]["claims"][claim] == "bfloat16");
    }
  // On the CPU sums, norms and softmax are not either.
  for (const char* claim : {"layer_norm", "group_norm", "softmax", "log_softmax", "sum"}) {
    INFO(claim);
    CHECK(expected["cuda"]["claims"][claim] == "float32");
    CHECK(expected["cpu"]["claims"][claim] == "bfloat16");
  }
  constexpr auto on_cuda = [](std::string_view name) { return autocast_list_of(name, AutocastDevice::cuda); };
  STATIC_REQUIRE(on_cuda("batch_norm") == AutocastList::none);
  STATIC_REQUIRE(on_cuda("mean") == AutocastList::none);
  STATIC_REQUIRE(on_cuda("matmul") == AutocastList::lower_precision);
  STATIC_REQUIRE(on_cuda("sum") == AutocastList::fp32_set_dtype);
  STATIC_REQUIRE(on_cuda("layer_norm") == AutocastList::fp32);
  STATIC_REQUIRE(on_cuda("binary_cross_entropy") == AutocastList::banned);
  STATIC_REQUIRE(autocast_list_of("binary_cross_entropy", AutocastDevice::cpu) == AutocastList::fp32);
  STATIC_REQUIRE(autocast_list_of("cat", AutocastDevice::cpu) == AutocastList::promote);
}

TEST_CASE("the flow of dtypes under autocast is what PyTorch's trace says") {
  const nlohmann::json expected = golden();
  for (const FlowStep& step : dtype_flow_steps) {
    INFO(step.path);
    for (const char* regime : {"f16, parameters f32", "bf16, parameters f32"}) {
      for (const char* device : {"cuda", "cpu"})
        CHECK(is_16_bits(expected[device]["flow"][regime].at(std::string(step.path))) ==
              step.in_lower_precision);
    }
  }
}
