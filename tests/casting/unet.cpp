// Casting cost and plans of a UNet, on the embedded Stable Diffusion.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <casting/cast_source.hpp>
#include <casting/measure.hpp>
#include <casting/measure_plan.hpp>
#include <casting/merge_costs.hpp>
#include <casting/plan_source.hpp>
#include <casting/planner.hpp>
#include <casting/sample_file.hpp>
#include <casting/squared_error.hpp>
#include <catch2/catch.hpp>
#include <cluster/launch.hpp>
#include <convert/model_conversion.hpp>
#include <formats/registry.hpp>
#include <stable_diffusion/component_weights.hpp>
#include <stable_diffusion/pipeline.hpp>
#include <support/arrays.hpp>
#include <support/golden_requests.hpp>
#include <support/temporary_folder.hpp>

#include <precast/io/safetensors.hpp>

namespace costs_of_unets {
namespace {

using namespace precast;
using namespace precast::casting;
using namespace precast::testing;
using families::BlockParameterRole, families::RecordedState;

const stable_diffusion::StableDiffusionPipeline& pipeline() {
  static const stable_diffusion::StableDiffusionPipeline opened(
      families::ModelFiles(std::string(PRECAST_SOURCE_DIR) + "/reference_pipeline/shapes/model_sd"),
      families::ComponentChoices::all(f32_choices().front()));
  return opened;
}

families::Request request() {
  families::Request wanted;
  wanted.prompts = {"a small white star on a black background, at the top",
                    "a large red circle on a blue background, at the left"};
  wanted.steps = 4;
  return wanted;
}

std::vector<RecordedState> recorded(std::int64_t every) {
  std::vector<RecordedState> states;
  pipeline().record(request(), {every, [&](RecordedState state) { states.push_back(std::move(state)); }});
  return states;
}

/// A model as convert writes it in blocks, which convolutions do not get; of one matrix in another format.
class InBlocks final : public nn::ForwardingSource {
 public:
  explicit InBlocks(const nn::ParameterSource& weights) : ForwardingSource(weights) {}
  nn::Parameter find(std::string_view name) const override {
    nn::Parameter found = original().find(name);
    if (found.shape.rank() == 2)
      found.dtype = *formats::find_type(name == "mid_block.resnets.0.time_emb_proj.weight" ? "q8_0" : "q4_0");
    return found;
  }
};

/// Costs of all layers.
CostFile measured(families::Blocks& blocks, const std::vector<RecordedState>& samples,
                  std::vector<std::string> types, bool biases = false) {
  CostSettings settings;
  settings.types = std::move(types);
  settings.biases = biases;
  for (std::int64_t i = 0; i < std::ssize(blocks.list()); ++i) settings.layers.push_back(i);
  settings.whole = settings.layers;
  return measure_cost(blocks, samples, settings, {}, {}, [](const CostFile&) {});
}

}  // namespace

TEST_CASE("a UNet's states are recorded at every Nth step, and a file of them reads back", "[casting]") {
  const std::vector<RecordedState> all = recorded(1), some = recorded(2);
  REQUIRE(all.size() == 8);
  REQUIRE(some.size() == 4);
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].picture == static_cast<std::int64_t>(i / 4));
    CHECK(all[i].step == static_cast<std::int64_t>(i % 4));
    if (all[i].step > 0) CHECK(all[i].timestep < all[i - 1].timestep);
  }
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "samples.safetensors";
  write_samples(file, {{{"model", "shapes-sd"}}, recorded(2)});
  const Samples read = read_samples(file);
  REQUIRE(read.recorded.size() == some.size());
  for (std::size_t i = 0; i < some.size(); ++i) {
    const RecordedState &same = all[i / 2 * 4 + i % 2 * 2], &again = read.recorded[i];
    CHECK(again.picture == some[i].picture);
    CHECK(again.step == some[i].step);
    CHECK(again.timestep == some[i].timestep);
    for (const auto part :
         {&families::BlockState::hidden, &families::BlockState::vec, &families::BlockState::prompt}) {
      CHECK(same_bits(some[i].state.*part, same.state.*part));
      CHECK((again.state.*part).shape() == (some[i].state.*part).shape());
      CHECK(same_bits(again.state.*part, some[i].state.*part));
    }
  }
  CHECK(read.fingerprint() != Samples{read.facts, recorded(1)}.fingerprint());
}

TEST_CASE("a UNet's layers cost nothing in the dtype that they have, and less the more bits they keep",
          "[casting]") {
  const auto blocks = pipeline().load_blocks();
  const std::vector<RecordedState> samples = recorded(4);
  std::map<BlockParameterRole, int> roles;
  for (const families::Block& block : blocks->list()) {
    CHECK_FALSE(block.parameters.empty());
    for (const families::BlockParameter& parameter : block.parameters) {
      ++roles[parameter.role];
      CHECK((parameter.role == BlockParameterRole::matrix) == (parameter.shape.rank() > 1));
    }
  }
  CHECK(roles.size() == 3);

  const CostFile file = measured(*blocks, samples, {"bf16", "f32", "q8_0", "q4_0", "fp8_e4m3"});
  REQUIRE(file.layers.size() == blocks->list().size());
  int with_linear = 0, ordered = 0;
  for (const LayerCost& layer : file.layers) {
    INFO(layer.name);
    for (const char* exact : {"bf16", "f32"}) CHECK(layer.types.at(exact).cost == 0.0);
    CHECK(layer.types.at("fp8_e4m3").cost > 0.0);
    CHECK(layer.types.at("fp8_e4m3").bits == 8);
    // Blocks leave convolutions as they are, of which levels are joined by nothing else.
    const bool only_convolves = layer.name.find("sampler") != std::string::npos;
    CHECK((layer.types.at("q4_0").cost == 0.0) == only_convolves);
    if (only_convolves) CHECK(layer.types.at("q4_0").bits == 16);
    with_linear += !only_convolves;
    ordered += !only_convolves && layer.types.at("q8_0").cost < layer.types.at("q4_0").cost;
  }
  CHECK(ordered == with_linear);
}

TEST_CASE("what a UNet's layer costs is the error of a whole run with that layer cast", "[casting]") {
  const auto blocks = pipeline().load_blocks();
  const std::vector<RecordedState> samples = recorded(4);
  const CostFile file = measured(*blocks, samples, {"q4_0"}, true);
  const auto count = std::ssize(blocks->list());
  for (const std::int64_t layer : {std::int64_t{0}, count / 2, count - 1}) {
    const families::Block& block = blocks->list()[static_cast<std::size_t>(layer)];
    INFO(block.name);
    double cost = 0, loss = 0;
    for (const RecordedState& sample : samples) {
      families::BlockState plain = sample.state.clone(), cast = sample.state.clone();
      blocks->run(plain, 0, layer + 1);
      const HostTensor<f32> plain_output = plain.hidden.clone();
      blocks->run(plain, layer + 1, count);
      CastSource source(blocks->source());
      for (const families::BlockParameter& parameter : block.parameters)
        if (parameter.role != BlockParameterRole::norm_scale) source.cast(parameter, "q4_0");
      blocks->replace(layer, source);
      blocks->run(cast, 0, layer + 1);
      loss += mean_squared_error(cast.hidden, plain_output) / static_cast<double>(samples.size());
      blocks->run(cast, layer + 1, count);
      cost += mean_squared_error(cast.hidden, plain.hidden) / static_cast<double>(samples.size());
      blocks->replace(layer, blocks->source());
    }
    const TypeCost& found = file.layers[static_cast<std::size_t>(layer)].types.at("q4_0");
    CHECK(*found.cost == Approx(cost).epsilon(1e-12));
    CHECK(*found.loss == Approx(loss).epsilon(1e-12));
    CHECK(*found.cost > 0);
  }
}

TEST_CASE("a UNet's plan is better than every format of its size, and its errors add up nearly",
          "[casting]") {
  const auto blocks = pipeline().load_blocks();
  const std::vector<RecordedState> samples = recorded(2);
  const CostFile file = measured(*blocks, samples, {"f16", "q8_0", "q4_0", "fp8_e4m3"});
  PlanRequest wanted;
  wanted.bits = 8;
  const PlanResult result = make_plan(file, "cost.json", wanted);
  const PlanMeasurement planned = measure_plan(*blocks, samples, result.plan, "plan.json", {});
  CHECK(planned.bits <= 8);
  CHECK(planned.cost == Approx(*result.plan.error).epsilon(0.5));
  Plan uniform;
  for (const families::Block& block : blocks->list()) uniform.types[block.name] = "fp8_e4m3";
  CHECK(planned.cost < measure_plan(*blocks, samples, uniform, "uniform.json", {}).cost);
}

TEST_CASE("weights from elsewhere have the name of the blocks that they are in, not of convolutions",
          "[casting]") {
  const auto blocks = pipeline().load_blocks();
  std::int64_t in_blocks = 0, all = 0;
  for (const families::Block& block : blocks->list())
    for (const families::BlockParameter& parameter : block.parameters) {
      if (parameter.shape.rank() > 1) all += parameter.shape.elements();
      if (parameter.shape.rank() == 2) in_blocks += parameter.shape.elements();
    }
  REQUIRE(2 * in_blocks < all);
  CHECK(patched_type(*blocks, InBlocks(blocks->source())) == "q4_0*");
  CHECK(patched_type(*blocks, blocks->source()) == "bf16*");
}

TEST_CASE("shards of a UNet, merged in any order, have its layers in the order in which they run",
          "[casting]") {
  const auto blocks = pipeline().load_blocks();
  const std::vector<RecordedState> samples = recorded(4);
  const CostFile whole = measured(*blocks, samples, {"fp8_e4m3"});
  CostSettings settings;
  settings.types = {"fp8_e4m3"};
  for (std::int64_t i = 0; i < std::ssize(blocks->list()); ++i) settings.whole.push_back(i);
  std::vector<NamedCosts> shards;
  for (const std::int64_t index : {0, 1, 2}) {
    settings.layers = cluster::SweepPart{index, 3}.places(std::ssize(settings.whole));
    const CostFile part = measure_cost(*blocks, samples, settings, {}, {}, [](const CostFile&) {});
    shards.push_back({std::to_string(index), parse_cost_file(cost_file_text(part), "shard.json")});
  }
  do {
    INFO(shards[0].name << shards[1].name << shards[2].name);
    CHECK(merge_costs(shards) == whole);
  } while (std::ranges::next_permutation(shards, {}, &NamedCosts::name).found);
}

TEST_CASE("the file that convert writes by a UNet's plan has the plan's bytes, and its values", "[casting]") {
  const auto blocks = pipeline().load_blocks();
  const std::array<std::string, 5> types{"fp8_e4m3", "int8_row", "fp8_e5m2_tensor", "f16", "bf16"};
  const CostFile costs = measured(*blocks, recorded(4), {types.begin(), types.end()});
  Plan plan;
  for (std::size_t i = 0; i < costs.layers.size(); ++i)
    plan.types[costs.layers[i].name] = types[i * 3 % types.size()];
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "planned.safetensors";
  conversion::Settings settings;
  settings.type_options.plan = plan;
  const conversion::ModelConversion conversion(
      std::string(PRECAST_SOURCE_DIR) + "/reference_pipeline/shapes/model_sd/unet", file, settings);
  CHECK(conversion.warnings().empty());
  conversion.write({});

  std::int64_t bytes = 0;
  const io::SafetensorsFile written(file);
  for (const io::TensorEntry& tensor : written.tensors()) {
    const bool is_weight = tensor.name.ends_with(".weight") && tensor.shape.rank() > 1;
    if (plan.layer_of(tensor.name) && (is_weight || tensor.name.ends_with(".weight_scale")))
      bytes += std::ssize(tensor.bytes);
  }
  CHECK(bytes == size_of_plan(costs, plan, "plan.json", Measure::cost).bytes);

  const stable_diffusion::ComponentWeights converted(file, "unet");
  const PlanSource planned(blocks->source(), plan);
  int changed = 0;
  for (const families::Block& block : blocks->list())
    for (const families::BlockParameter& parameter : block.parameters) {
      INFO(parameter.name);
      const std::vector<f32> values = values_of(planned, parameter);
      CHECK(values_of(converted, parameter) == values);
      if (values != values_of(blocks->source(), parameter)) {
        CHECK(parameter.role == BlockParameterRole::matrix);
        changed += parameter.shape.rank() > 2;
      }
    }
  CHECK(changed > 10);  // convolutions among them
}

TEST_CASE("a UNet's convolutions cost nothing, and no bits, in what no file has of them", "[casting]") {
  const auto blocks = pipeline().load_blocks();
  const CostFile file = measured(*blocks, recorded(4), {"int8_row", "fp8_e4m3_row", "fp8_e4m3_tensor"});
  for (const LayerCost& layer : file.layers) {
    INFO(layer.name);
    const bool only_convolves = layer.name.find("sampler") != std::string::npos;
    for (const auto& [type, cost] : layer.types) {
      INFO(type);
      CHECK((cost.cost == 0.0) == only_convolves);
      CHECK((cost.bits == 16.0) == only_convolves);
      CHECK(*cost.bits <= 16);
    }
  }
}

}  // namespace costs_of_unets
