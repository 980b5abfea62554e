// The transformer block by block: both streams after each block of one prediction, against diffusers'.
#include <string>

#include <catch2/catch.hpp>
#include <flux/model_folder.hpp>
#include <flux/transformer_model.hpp>
#include <support/golden.hpp>

#include <precast/io/component_source.hpp>
#include <precast/nn/widened.hpp>
#include <precast/policy/presets.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

using P = presets::Quality;

/// silu(time + guidance + pooled text), from the parts that TransformerModel is made of.
Tensor<f32> conditioning_of(const Golden& golden, const nn::ParameterPath& root,
                            const flux::TransformerConfig& config) {
  const nn::ParameterPath place = root / "time_text_embed";
  const auto number = [&](const char* name, f32 value) {
    const families::TimestepEmbedding<P> embedder(place / name, 256, config.inner_dim());
    const f32 scaled = value * 1000;
    return embedder(timestep_embedding<P>(View<const f32>(&scaled, {1}), 256));
  };
  const Tensor<f32> time = number("timestep_embedder", golden.tensor("forward.timestep").values()[0]);
  const Tensor<f32> guidance = number("guidance_embedder", golden.tensor("forward.guidance").values()[0]);
  const families::TimestepEmbedding<P> text(place / "text_embedder", config.pooled_projection_dim,
                                            config.inner_dim());
  const Tensor<f32> pooled = golden.tensor("clip_pooled");
  const Tensor<f32> of_text = text(pooled.view().reshaped({1, pooled.elements()}));
  return activate<P>(add<P>(add<P>(time, guidance), of_text), ActivationFunction::silu);
}

void check_streams(const Golden& golden, const Tensor<f32>& x, std::int64_t text, const std::string& block) {
  INFO(block);
  const View<const f32> all = x;
  CHECK(relative_error(all.rows_between(0, text).values(), golden.tensor(block + ".text").values()) <=
        largest_error);
  CHECK(relative_error(all.rows_between(text, x.rows() - text).values(),
                       golden.tensor(block + ".image").values()) <= largest_error);
}

}  // namespace

TEST_CASE("text and image tokens after each block are diffusers'") {
  const Golden golden("dev_f32");
  const auto model = flux::ModelFolder::open(golden_model("dev_f32"));
  const flux::TransformerConfig& config = model.transformer;
  const io::ComponentSource source(model.component("transformer"));
  const nn::ParameterPath root(source);

  const Tensor<f32> prompt = golden.tensor("t5_embeds"), noise = golden.tensor("noise");
  const std::int64_t text = prompt.rows(), image = noise.rows();
  const std::int64_t columns = golden.fact("width").get<std::int64_t>() / (2 * model.vae.factor());
  Tensor<f32> x(Shape{text + image, config.inner_dim()});
  nn::Linear<P>(root / "context_embedder", config.joint_attention_dim, config.inner_dim())
      .into(prompt, x.view().rows_between(0, text));
  nn::Linear<P>(root / "x_embedder", config.in_channels, config.inner_dim())
      .into(noise, x.view().rows_between(text, image));

  std::vector<f32> positions(static_cast<std::size_t>(3 * (text + image)), 0.0f);
  for (std::int64_t i = 0; i < image; ++i) {
    positions[static_cast<std::size_t>(3 * (text + i) + 1)] = static_cast<f32>(i / columns);
    positions[static_cast<std::size_t>(3 * (text + i) + 2)] = static_cast<f32>(i % columns);
  }
  const RotaryTable rotary = rotary_table(config.axes_dims_rope, 10000, positions);
  const Tensor<f32> conditioning = conditioning_of(golden, root, config);
  const flux::BlockContext<P> context{conditioning, rotary, text};

  int blocks = 0;
  for (std::int64_t i = 0; i < config.num_layers; ++i, ++blocks) {
    const flux::DoubleBlock<P> block(root / "transformer_blocks" / i, config);
    block(x, context);
    check_streams(golden, x, text, "forward.double." + std::to_string(i));
  }
  for (std::int64_t i = 0; i < config.num_single_layers; ++i, ++blocks) {
    const flux::SingleBlock<P> block(root / "single_transformer_blocks" / i, config);
    block(x, context);
    check_streams(golden, x, text, "forward.single." + std::to_string(i));
  }
  CHECK(blocks == 3);
}
