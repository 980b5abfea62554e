// A layer of T5-XXL's encoder: 4096 wide, 64 heads of 64, feed-forward 10240 with a gate, 512 tokens, as
// FluxPipeline pads every prompt to.
//
// Floor: 2 * 512 (4 * 4096^2 + 3 * 4096 * 10240) = 198 GFLOP in its layers and 4 * 512^2 * 4096 = 4.3 in
// attention; 193 M weights read once. The position bias, 64 * 512^2 f32, is 67 MB more.
#include <string>

#include <common/model_work.hpp>
#include <text/t5_encoder_template.hpp>

namespace precast::bench {
namespace {

template <PolicyType P>
void run_layer(benchmark::State& state) {
  using Activation = typename P::activation;
  constexpr std::int64_t tokens = 512;
  text::T5Config config;
  config.num_layers = 1;
  testing::TensorShapes shapes = testing::tensors_of(config);
  std::erase_if(shapes, [](const auto& entry) {
    return !entry.first.starts_with("encoder.block.0") || entry.first.find("relative") != std::string::npos;
  });
  const testing::RandomSource<bf16> source(shapes);
  const Tensor<Activation> x = random_tensor<Activation>({1, tokens, config.d_model});
  const Tensor<f32> bias = random_tensor<f32>({config.num_heads, tokens, tokens});
  AttentionOptions options;
  options.heads = config.num_heads;
  options.scale = 1;
  options.bias = bias;

  Work work;
  work.layers.assign(4, LinearShape{tokens, config.d_model, config.inner()});
  work.layers.insert(work.layers.end(), 2, LinearShape{tokens, config.d_model, config.d_ff});
  work.layers.push_back({tokens, config.d_ff, config.d_model});
  work.other_products = 4.0 * static_cast<double>(tokens * tokens * config.inner());
  for (const auto& [name, shape] : shapes) work.parameters += static_cast<double>(shape.elements());
  measure_model<P>(
      state, work, [&] { return text::T5Layer<P>(nn::ParameterPath(source) / "encoder.block.0", config); },
      [&](const text::T5Layer<P>& layer) { benchmark::DoNotOptimize(layer(x, options).data()); });
}

const bool added =
    add_model("t5_layer", "512", 3, []<class P>(P*, benchmark::State& state) { run_layer<P>(state); });

}  // namespace
}  // namespace precast::bench
