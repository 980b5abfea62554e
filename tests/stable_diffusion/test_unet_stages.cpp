// A UNet's stages: what their list says, and that running them one by one is what a prediction does.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <families/backend.hpp>
#include <stable_diffusion/golden_unets.hpp>
#include <stable_diffusion/models.hpp>
#include <stable_diffusion/pipeline.hpp>
#include <stable_diffusion/unet_model.hpp>
#include <stable_diffusion/unet_stages.hpp>
#include <stable_diffusion/unet_tensors.hpp>
#include <support/arrays.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>
#include <support/skip.hpp>

#include <precast/policy/presets.hpp>

namespace unet_stages {
namespace {

using namespace precast;
using namespace precast::testing;
using families::BlockState;
using stable_diffusion::UNetStage;

const std::string shapes_sd = std::string(PRECAST_SOURCE_DIR) + "/reference_pipeline/shapes/model_sd";

stable_diffusion::StableDiffusionPipeline opened(const PolicyChoice& choice) {
  return {families::ModelFiles(shapes_sd), families::ComponentChoices::all(choice)};
}

/// What the blocks start from at the first of two steps, with and without the negative prompt.
BlockState recorded(double guidance) {
  families::Request request;
  request.prompts = {"a red ring"};
  request.steps = 2;
  request.guidance = guidance;
  request.seed = 3;
  std::vector<families::RecordedState> states;
  opened(f32_choices().front()).record(request, {2, [&](families::RecordedState state) {
                                                   states.push_back(std::move(state));
                                                 }});
  REQUIRE(states.size() == 1);
  return std::move(states.front().state);
}

}  // namespace

TEST_CASE("every skip that a UNet's stages leave is taken once, and tensors lie in one stage or at an end") {
  const Golden golden("unets");
  for (const GoldenUNet& unet : golden_unets(golden)) {
    INFO(unet.name());
    const std::vector<UNetStage> stages = stable_diffusion::stages_of(unet.config());
    CHECK(stable_diffusion::skips_before(unet.config(), stages, stages.size()).empty());
    std::int64_t channels = unet.config().levels.front().channels;
    std::set<std::string> places;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const UNetStage& stage = stages[i];
      INFO(stage.place);
      const std::vector<std::int64_t> skips = stable_diffusion::skips_before(unet.config(), stages, i);
      CHECK(stage.in_channels == channels + (stage.takes_skip ? skips.back() : 0));
      CHECK(places.insert(stage.place).second);
      channels = stage.out_channels;
    }
    CHECK(channels == unet.config().levels.front().channels);
    for (const auto& [name, shape] : stable_diffusion::unet_tensors(unet.config())) {
      const auto owners = std::ranges::count_if(stages, [&, &tensor = name](const UNetStage& stage) {
        return tensor.starts_with(stage.place + '.');
      });
      const bool at_an_end = name.starts_with("conv_") || name.starts_with("time_embedding.") ||
                             name.starts_with("add_embedding.");
      INFO(name);
      CHECK(owners == (at_an_end ? 0 : 1));
    }
  }
}

TEST_CASE("stages that run one by one give the prediction of a UNet, bit for bit") {
  using P = presets::Quality;
  if (f32_choices().front() != quality) return skip("this build has no preset quality");
  const Golden golden("unets");
  for (const GoldenUNet& golden_unet : golden_unets(golden)) {
    INFO(golden_unet.name());
    const auto source = golden_unet.source();
    const stable_diffusion::UNetConfig& config = golden_unet.config();
    const nn::ParameterPath root(*source);
    stable_diffusion::UNetModel<P> unet(config, root);
    const nn::GroupNorm<P> norm_out(root / "conv_norm_out", config.norm_groups,
                                    config.levels.front().channels, config.norm_epsilon);
    const nn::Conv2d<P> out(root / "conv_out", config.levels.front().channels, config.out_channels, 3);
    for (int draw = 0; draw < golden_unet.draws(); ++draw) {
      const HostTensor<f32> whole = golden_unet.predict(unet, draw);
      BlockState state = golden_unet.state_before_blocks(unet, draw);
      CHECK(state.skips.empty());
      const auto count = std::ssize(stable_diffusion::stages_of(config));
      for (std::int64_t i = 0; i < count; ++i) unet.run_blocks(state, i, i + 1);
      CHECK(state.skips.empty());
      CHECK(same_bits(out(norm_out(state.hidden, ActivationFunction::silu)), whole));
    }
  }
}

TEST_CASE("a UNet's blocks give the same bits however their run is cut up, under every policy") {
  for (const double guidance : {1.0, 5.0}) {
    const BlockState start = recorded(guidance);
    CHECK(start.hidden.shape()[0] == (guidance > 1 ? 2 : 1));
    for (const PolicyChoice& choice : compiled_choices()) {
      INFO(to_string(choice) << ", guidance " << guidance);
      const auto blocks = opened(choice).load_blocks();
      const auto count = std::ssize(blocks->list());
      BlockState whole = start.clone();
      blocks->run(whole, 0, count);
      CHECK_FALSE(same_bits(whole.hidden, start.hidden));
      for (const std::int64_t cut :
           {std::int64_t{0}, std::int64_t{1}, count / 3, count / 2, count - 1, count}) {
        INFO("cut " << cut);
        BlockState parts = start.clone();
        blocks->run(parts, 0, cut);
        blocks->run(parts, cut, count);
        CHECK(same_bits(parts.hidden, whole.hidden));
      }
    }
  }
}

TEST_CASE("a UNet's block that is loaded anew from the same weights is the same") {
  const auto blocks = opened(f32_choices().front()).load_blocks();
  const BlockState start = recorded(5);
  const auto count = std::ssize(blocks->list());
  BlockState before = start.clone(), after = start.clone();
  blocks->run(before, 0, count);
  for (std::int64_t i = 0; i < count; ++i) blocks->replace(i, blocks->source());
  blocks->run(after, 0, count);
  CHECK(same_bits(after.hidden, before.hidden));
}

TEST_CASE("states that are not a UNet's own are refused") {
  const auto blocks = opened(f32_choices().front()).load_blocks();
  const BlockState good = recorded(5);
  const auto count = std::ssize(blocks->list());
  const auto refused = [&](auto&& damage, std::int64_t first, std::int64_t last) {
    BlockState state = good.clone();
    damage(state);
    CHECK_THROWS_AS(blocks->run(state, first, last), ShapeError);
  };
  const auto nothing = [](BlockState&) {};
  refused(nothing, -1, 1);
  refused(nothing, 2, 1);
  refused(nothing, 0, count + 1);
  refused(nothing, 1, 2);  // without the skips that block 0 leaves
  refused([](BlockState& state) { state.hidden = filled<f32>({2, 3}, 0); }, 0, 1);
  refused([](BlockState& state) { state.hidden = filled<f32>({2, 8, 8, 3}, 0); }, 0, 1);
  refused([](BlockState& state) { state.vec = filled<f32>({1, 3}, 0); }, 0, 1);
  refused([](BlockState& state) { state.vec = filled<f32>({3, state.vec.columns()}, 0); }, 0, 1);
  refused([](BlockState& state) { state.prompt = {}; }, 0, 1);
  refused([](BlockState& state) { state.prompt = filled<f32>({2, 77, 3}, 0); }, 0, 1);
  refused([](BlockState& state) { state.prompt = filled<f32>({1, 77, state.prompt.columns()}, 0); }, 0, 1);
}

}  // namespace unet_stages
