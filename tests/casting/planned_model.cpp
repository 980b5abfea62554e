// Planned models: the matrices of each layer in its format, and the error that a plan predicts against the
// one that is measured, on the bundled model.
#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <casting/cast_source.hpp>
#include <casting/measure.hpp>
#include <casting/measure_plan.hpp>
#include <casting/plan_source.hpp>
#include <casting/planner.hpp>
#include <catch2/catch.hpp>
#include <flux/pipeline.hpp>
#include <formats/registry.hpp>
#include <support/golden_requests.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/memory/dry_run.hpp>

namespace planned_models {
namespace {

using namespace precast;
using namespace precast::casting;
using families::BlockParameterRole, families::RecordedState;

const flux::FluxPipeline& pipeline() {
  static const flux::FluxPipeline opened(std::string(PRECAST_SOURCE_DIR) + "/reference_pipeline/shapes/model",
                                         flux::ComponentChoices::all(testing::f32_choices().front()));
  return opened;
}

std::vector<RecordedState> samples() {
  flux::Request request;
  request.prompts = {"a small white star on a black background, at the top", "a large red circle"};
  std::vector<RecordedState> states;
  pipeline().record(request, {4, [&](RecordedState state) { states.push_back(std::move(state)); }});
  return states;
}

Plan plan_of(const families::Blocks& blocks, const std::string& type) {
  Plan plan;
  for (const families::Block& block : blocks.list()) plan.types[block.name] = type;
  return plan;
}

}  // namespace

/// Counts what it is told was taken.
class Counted final : public nn::ForwardingSource {
 public:
  explicit Counted(const nn::ParameterSource& source) : ForwardingSource(source) {}
  void taken(std::size_t bytes) const override { bytes_ += bytes; }
  std::size_t bytes() const { return bytes_; }

 private:
  mutable std::size_t bytes_ = 0;
};

TEST_CASE("a plan's matrices are in their layers' formats, and all else is as it was", "[casting]") {
  const auto blocks = pipeline().load_blocks();
  const families::Block &first = blocks->list()[0], &second = blocks->list()[1];
  Plan plan;
  plan.types = {{first.name, "q4_0"}, {second.name, "f32"}};
  const Counted source(blocks->source());
  const PlanSource planned(source, plan);
  CHECK_THROWS_WITH(planned.check_all_found("p.json"),
                    Catch::StartsWith("p.json: layer '" + first.name + "'") && Catch::Contains("this model"));
  int changed = 0, kept = 0;
  for (const families::Block* block : {&first, &second, &blocks->list()[2]})
    for (const families::BlockParameter& parameter : block->parameters) {
      INFO(parameter.name);
      const nn::Parameter original = blocks->source().find(parameter.name);
      const std::size_t before = source.bytes();
      const nn::Parameter found = planned.find(parameter.name);
      planned.taken(found.bytes.size());
      CHECK(source.bytes() - before == original.bytes.size());  // of the file, whatever became of them
      REQUIRE(found.shape == original.shape);
      const bool is_matrix = parameter.role == BlockParameterRole::matrix;
      if (block == &first && is_matrix) {
        CastSource alone(blocks->source());
        CHECK(alone.cast(parameter, "q4_0").name == "q4_0");
        CHECK(found.dtype == dtype_info<q4_0>);
        CHECK(values_of(planned, parameter) == values_of(alone, parameter));
        CHECK(values_of(planned, parameter) != values_of(blocks->source(), parameter));
        ++changed;
      } else {
        CHECK(found.dtype == (block == &second && is_matrix ? dtype_info<f32> : original.dtype));
        CHECK(values_of(planned, parameter) == values_of(blocks->source(), parameter));
        ++kept;
      }
      // What is estimated is what is loaded.
      const DryRun counting;
      const nn::Parameter estimated = planned.find(parameter.name);
      CHECK(estimated.dtype == found.dtype);
      CHECK(estimated.bytes.size() == found.bytes.size());
      CHECK(counting.peak() >= (found.owner ? std::ssize(found.bytes) : 0));
      planned.taken(estimated.bytes.size());
    }
  CHECK(changed >= 10);
  CHECK(kept > changed);
  CHECK_NOTHROW(planned.check_all_found("p.json"));
}

/// A source but for one parameter, in f32.
class Replaced final : public nn::ForwardingSource {
 public:
  Replaced(const nn::ParameterSource& source, const families::BlockParameter& parameter,
           std::span<const f32> values)
      : ForwardingSource(source), parameter_(parameter), values_(values) {}
  nn::Parameter find(std::string_view name) const override {
    if (name != parameter_.name) return original().find(name);
    return {dtype_info<f32>, parameter_.shape, std::as_bytes(values_)};
  }

 private:
  const families::BlockParameter& parameter_;
  std::span<const f32> values_;
};

TEST_CASE("a plan's matrix that its format cannot hold is refused, as convert refuses it", "[casting]") {
  const auto blocks = pipeline().load_blocks();
  const families::Block& block = blocks->list()[0];
  const auto matrix =
      std::ranges::find(block.parameters, BlockParameterRole::matrix, &families::BlockParameter::role);
  REQUIRE(matrix != block.parameters.end());
  std::vector<f32> values = values_of(blocks->source(), *matrix);
  values[7] = -1e5f;
  const Replaced source(blocks->source(), *matrix, values);
  for (const char* type : {"f16", "fp8_e4m3", "fp8_e5m2", "nvfp4"}) {
    INFO(type);
    if (!formats::find_type(type)) continue;
    Plan plan;
    plan.types = {{block.name, type}};
    CHECK_THROWS_WITH(PlanSource(source, plan).find(matrix->name),
                      Catch::Contains("'" + matrix->name + "'") &&
                          Catch::Contains("beyond what " + std::string(type) + " holds"));
    CHECK_NOTHROW(CastSource(source).cast(*matrix, type));  // which measures what that costs
  }
  Plan plan;
  plan.types = {{block.name, "bf16"}};
  CHECK_NOTHROW(PlanSource(source, plan).find(matrix->name));
}

TEST_CASE("a plan of one layer measures what that layer's cast costs, to the bit", "[casting]") {
  const auto blocks = pipeline().load_blocks();
  const std::vector<RecordedState> some = samples();
  CostSettings settings;
  settings.types = {"q4_0"};
  settings.layers = {1, 4};
  const CostFile costs = measure_cost(*blocks, some, settings, {}, {}, [](const CostFile&) {});
  for (const LayerCost& layer : costs.layers) {
    Plan plan;
    plan.types[layer.name] = "q4_0";
    const PlanMeasurement measured = measure_plan(*blocks, some, plan, "p.json", {});
    CHECK(measured.cost == layer.types.at("q4_0").cost);
    CHECK(measured.relative_cost == layer.types.at("q4_0").relative_cost);
    CHECK(measured.bits == 4.5);
    CHECK(measured.cost > 0);
  }
  CHECK(measure_plan(*blocks, some, plan_of(*blocks, "f32"), "p.json", {}).cost ==
        0);  // and nothing is left behind
  Plan elsewhere;
  elsewhere.types["transformer_blocks.99"] = "q4_0";
  CHECK_THROWS_WITH(measure_plan(*blocks, some, elsewhere, "p.json", {}),
                    Catch::StartsWith("p.json: layer 'transformer_blocks.99'"));
}

TEST_CASE("on the embedded model a plan beats every uniform format of its size, as measured",
          "[casting][many_runs]") {
  const auto blocks = pipeline().load_blocks();
  const std::vector<RecordedState> some = samples();
  CostSettings settings;
  for (const formats::StoredFormat& type : formats::all_formats())
    if (formats::bits_per_value(type.info) < 16) settings.types.emplace_back(type.info.name);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(blocks->list().size()); ++i)
    settings.layers.push_back(i);
  const CostFile costs = measure_cost(*blocks, some, settings, {}, {}, [](const CostFile&) {});
  std::size_t beaten = 0;
  for (const std::string& type : settings.types) {
    const PlanMeasurement uniform = measure_plan(*blocks, some, plan_of(*blocks, type), "p.json", {});
    PlanRequest request;
    request.bits = uniform.bits;
    const PlanResult best = make_plan(costs, "c.json", request);
    const PlanMeasurement planned = measure_plan(*blocks, some, best.plan, "p.json", {});
    const double predicted = std::ranges::find(best.sizes, type, &PlannedSize::method)->error;
    INFO(type << ": " << uniform.cost << ", planned " << planned.cost << ", predicted " << predicted
              << " and " << *best.plan.error);
    CHECK(planned.bits <= uniform.bits);
    // Where rows that blocks do not divide have another format, two names may be one model.
    if (*best.plan.error == predicted) {
      CHECK(planned.cost == uniform.cost);
    } else if (*best.plan.error < 0.95 * predicted) {  // less is less than what costs lack to be additive
      CHECK(planned.cost < uniform.cost);
      ++beaten;
    }
  }
  CHECK(beaten >= settings.types.size() - 8);
}

}  // namespace planned_models
