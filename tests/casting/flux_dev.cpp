// The published costs of Flux.1-dev's 57 blocks in ten formats: plans of them, and what is not better.
#include <cmath>
#include <string>

#include <casting/planner.hpp>
#include <catch2/catch.hpp>

namespace flux_dev_costs {
namespace {

using namespace precast;
using namespace precast::casting;

const CostFile& costs() {
  static const CostFile file = read_cost_file(PRECAST_SOURCE_DIR "/tests/casting/data/flux_dev_costs.json");
  return file;
}

PlanResult plan_of(const PlanRequest& request) { return make_plan(costs(), "flux_dev_costs.json", request); }

}  // namespace

TEST_CASE("the published costs of Flux.1-dev are there to the last layer") {
  REQUIRE(costs().layers.size() == 57);
  CHECK(costs().types().size() == 11);
  std::int64_t parameters = 0;
  for (const LayerCost& layer : costs().layers) {
    parameters += *layer.parameters;
    int with_cost = 0;
    for (const auto& [type, cost] : layer.types) with_cost += cost.cost.has_value();
    CHECK(with_cost == 10);
  }
  CHECK(parameters == 11'834'228'736);
  CHECK(costs().layers[0].types.at("q8_0").cost == 61.301);
  CHECK(costs().layers[56].types.at("q2_k").cost == 74.913);
  CHECK(std::isinf(*costs().layers[18].types.at("fp8_e4m3").loss));
  CHECK(costs().layers[18].name == "transformer_blocks.18");
  CHECK(costs().layers[19].name == "single_transformer_blocks.0");
}

TEST_CASE("plans of Flux.1-dev are proved best, and never worse than greedy or a uniform format") {
  int better_than_greedy = 0, budgets = 0;
  for (double bits = 2.625; bits <= 8.5; bits += 0.0625) {
    INFO(bits << " bits");
    PlanRequest request;
    request.bits = bits;
    const PlanResult result = plan_of(request);
    ++budgets;
    CHECK(result.plan.gap == 0.0);
    CHECK(*result.plan.bits <= bits);
    CHECK(result.left_out == std::vector<std::string>{"q4_1_patched"});
    for (const PlannedSize& other : result.sizes)
      if (other.keeps) CHECK(*result.plan.error <= other.error * (1 + 1e-12));
    REQUIRE(result.sizes[1].method == "greedy");
    CHECK(result.sizes[1].keeps);
    better_than_greedy += *result.plan.error < result.sizes[1].error * (1 - 1e-9);
    // The other way round: the smallest plan of this error is as large.
    PlanRequest of_error;
    of_error.error = result.plan.error;
    const PlanResult smallest = plan_of(of_error);
    CHECK(smallest.plan.bytes == result.plan.bytes);
    CHECK(*smallest.plan.error <= *result.plan.error * (1 + 1e-12));
  }
  CHECK(budgets == 95);
  CHECK(better_than_greedy > 20);
}

TEST_CASE("every format of the published table can be planned with, those of other programs too") {
  PlanRequest request;
  request.bits = 5;
  request.types = {"q8_0", "q6_k", "q5_1", "q5_k", "q4_1", "q4_1_patched", "q4_k", "q4_0", "q3_k", "q2_k"};
  const PlanResult of_ten = plan_of(request);
  CHECK(of_ten.plan.gap == 0.0);
  CHECK(of_ten.sizes.size() == 12);
  request.types.clear();
  CHECK(*of_ten.plan.error <= *plan_of(request).plan.error);
}

}  // namespace flux_dev_costs
