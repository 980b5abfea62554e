// Blocks that run apart from the rest have the bits of a whole run, and can be loaded anew.
#include <string>

#include <catch2/catch.hpp>
#include <flux/model_folder.hpp>
#include <flux/models.hpp>
#include <flux/transformer_model.hpp>
#include <support/arrays.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>

#include <precast/io/component_source.hpp>
#include <precast/policy/presets.hpp>

namespace blockwise {
namespace {

using namespace precast;
using namespace precast::testing;

/// The inputs of a golden folder's one prediction; views are of the tensors beside them.
struct Inputs {
  explicit Inputs(const char* folder)
      : golden(folder),
        model(flux::ModelFolder::open(golden_model(folder))),
        source(model.component("transformer")),
        noise(golden.tensor("noise")),
        prompt(golden.tensor("t5_embeds")),
        pooled(golden.tensor("clip_pooled")) {
    input.latents = noise;
    input.prompt = prompt;
    input.pooled = pooled.view().reshaped({1, pooled.elements()});
    input.timestep = golden.tensor("forward.timestep").values()[0];
    input.guidance = golden.tensor("forward.guidance").values()[0];
    const std::int64_t factor = 2 * model.vae.factor();
    input.rows = golden.fact("height").get<std::int64_t>() / factor;
    input.columns = golden.fact("width").get<std::int64_t>() / factor;
  }
  std::int64_t blocks() const { return model.transformer.num_layers + model.transformer.num_single_layers; }

  Golden golden;
  flux::ModelFolder model;
  io::ComponentSource source;
  HostTensor<f32> noise, prompt, pooled;
  flux::TransformerInput input;
};

/// The velocity from the state after the last block, by the parts that TransformerModel is made of.
HostTensor<f32> velocity_from(const Inputs& inputs, const families::BlockState& state) {
  using P = presets::Quality;
  const nn::ParameterPath root(inputs.source);
  const flux::TransformerConfig& config = inputs.model.transformer;
  const flux::Modulation<P> norm_out(root / "norm_out", config.inner_dim(), 2);
  const nn::Linear<P> out(root / "proj_out", config.inner_dim(), config.out_channels);
  const View<const f32> image =
      state.hidden.view().rows_between(state.text_tokens, state.hidden.rows() - state.text_tokens);
  return out(norm_out(activate<P>(state.vec, ActivationFunction::silu)).last().normed(image));
}

}  // namespace

TEST_CASE("blocks that run apart give the velocity of a whole prediction, bit for bit") {
  for (const char* folder : golden_folders) {
    INFO(folder);
    const Inputs inputs(folder);
    const auto transformer = flux::models_of(families::cpu_backend(), f32_choices().front())
                                 .transformer(inputs.model.transformer, inputs.source);
    const HostTensor<f32> whole = transformer->velocity(inputs.input);
    families::BlockState state = transformer->state_before_blocks(inputs.input);
    CHECK(state.hidden.shape() ==
          Shape{inputs.prompt.rows() + inputs.noise.rows(), inputs.model.transformer.inner_dim()});
    CHECK(state.text_tokens == inputs.prompt.rows());
    for (std::int64_t block = 0; block < inputs.blocks(); ++block)
      transformer->run_blocks(state, block, block + 1);
    if (f32_choices().front() == quality) CHECK(same_bits(velocity_from(inputs, state), whole));
    CHECK(same_bits(transformer->velocity(inputs.input), whole));
  }
}

TEST_CASE("blocks give the same bits however their run is cut up, under every policy") {
  for (const char* folder : {"dev_f32", "schnell_bf16"}) {
    const Inputs inputs(folder);
    for (const PolicyChoice& choice : compiled_choices()) {
      INFO(folder << " under " << to_string(choice));
      const auto transformer = flux::models_of(families::cpu_backend(), choice)
                                   .transformer(inputs.model.transformer, inputs.source);
      const families::BlockState start = transformer->state_before_blocks(inputs.input);
      families::BlockState whole = start.clone();
      transformer->run_blocks(whole, 0, inputs.blocks());
      CHECK_FALSE(same_bits(whole.hidden, start.hidden));
      for (std::int64_t cut = 0; cut <= inputs.blocks(); ++cut) {
        families::BlockState parts = start.clone();
        transformer->run_blocks(parts, 0, cut);
        transformer->run_blocks(parts, cut, inputs.blocks());
        CHECK(same_bits(parts.hidden, whole.hidden));
      }
    }
  }
}

TEST_CASE("a block that is loaded anew from the same weights is the same, and from others another") {
  const Inputs inputs("dev_f32"), others("static_sharded");
  const auto transformer = flux::models_of(families::cpu_backend(), f32_choices().front())
                               .transformer(inputs.model.transformer, inputs.source);
  const HostTensor<f32> before = transformer->velocity(inputs.input);
  for (std::int64_t block = 0; block < inputs.blocks(); ++block)
    transformer->replace_block(block, inputs.source);
  CHECK(same_bits(transformer->velocity(inputs.input), before));
  CHECK_THROWS_AS(transformer->replace_block(0, others.source), InputError);  // of other dimensions
  CHECK(same_bits(transformer->velocity(inputs.input), before));
}

TEST_CASE("states that are not a transformer's own are refused") {
  const Inputs inputs("dev_f32");
  const auto transformer = flux::models_of(families::cpu_backend(), f32_choices().front())
                               .transformer(inputs.model.transformer, inputs.source);
  const families::BlockState good = transformer->state_before_blocks(inputs.input);
  const auto refused = [&](auto&& damage, std::int64_t first, std::int64_t last) {
    families::BlockState state = good.clone();
    damage(state);
    CHECK_THROWS_AS(transformer->run_blocks(state, first, last), ShapeError);
  };
  const auto nothing = [](families::BlockState&) {};
  refused(nothing, -1, 1);
  refused(nothing, 2, 1);
  refused(nothing, 0, inputs.blocks() + 1);
  refused([](families::BlockState& state) { state.text_tokens = state.hidden.rows() + 1; }, 0, 1);
  refused([](families::BlockState& state) { state.vec = filled<f32>({1, 3}, 0); }, 0, 1);
  refused([](families::BlockState& state) { state.positions = filled<f32>({2, 3}, 0); }, 0, 1);
  refused([](families::BlockState& state) { state.hidden = filled<f32>({state.hidden.rows(), 3}, 0); }, 0, 1);
}

}  // namespace blockwise
