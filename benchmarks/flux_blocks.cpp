// A double and a single block of Flux at full width: 3072 wide, 24 heads of 128, 512 text tokens.
//
// Floors, for T tokens in all: a double block multiplies 24 T 3072^2 in its layers and attention 4 T^2 3072,
// so for T = 768 174 + 7.2 GFLOP, for 1536 348 + 29; a single block is the same 24 T 3072^2 and 4 T^2 3072.
// Bytes: every weight once, 340 M and 142 M values; the modulations, which have one row, take 113 M and 28 M
// of them, and nothing hides their reading. Activations are 2 to 9 MB each and stay in the third-level cache.
#include <array>
#include <string>

#include <common/model_work.hpp>
#include <flux/transformer_blocks.hpp>

namespace precast::bench {
namespace {

constexpr std::int64_t text_tokens = 512;

flux::TransformerConfig config_of(std::int64_t double_blocks, std::int64_t single_blocks) {
  flux::TransformerConfig config;
  config.num_layers = double_blocks;
  config.num_single_layers = single_blocks;
  return config;
}

/// The tensors of a block alone.
testing::TensorShapes tensors_under(const std::string& prefix, const flux::TransformerConfig& config) {
  testing::TensorShapes all = testing::tensors_of(config), kept;
  for (const auto& [name, shape] : all)
    if (name.starts_with(prefix)) kept.emplace(name, shape);
  return kept;
}

RotaryTable positions(const flux::TransformerConfig& config, std::int64_t image_tokens) {
  std::vector<f32> ids(static_cast<std::size_t>(3 * text_tokens), 0.0f);
  std::int64_t side = 1;
  while (side * side < image_tokens) ++side;
  for (std::int64_t token = 0; token < image_tokens; ++token)
    for (const std::int64_t id : std::array<std::int64_t, 3>{0, token / side, token % side})
      ids.push_back(static_cast<f32>(id));
  return rotary_table(config.axes_dims_rope, 10000, ids);
}

/// T = text and image tokens share weights; otherwise each stream has its own.
LinearShapes layers_of(std::int64_t tokens, std::int64_t inner, bool single) {
  LinearShapes layers(single ? 3 : 4, LinearShape{tokens, inner, inner});
  layers.push_back({tokens, inner, 4 * inner});
  layers.push_back({tokens, (single ? 5 : 4) * inner, inner});
  return layers;
}

template <PolicyType P, template <class> class Block>
void run_block(benchmark::State& state, const std::string& prefix, const flux::TransformerConfig& config,
               std::int64_t image_tokens) {
  using Activation = typename P::activation;
  constexpr bool single = std::is_same_v<Block<P>, flux::SingleBlock<P>>;
  const std::int64_t tokens = text_tokens + image_tokens, inner = config.inner_dim();
  const testing::TensorShapes shapes = tensors_under(prefix, config);
  const testing::RandomSource<bf16> source(shapes);
  const RotaryTable rotary = positions(config, image_tokens);
  const Tensor<Activation> conditioning = random_tensor<Activation>({1, inner});
  const Tensor<Activation> start = random_tensor<Activation>({tokens, inner});

  Work work;
  if (single) {
    work.layers = layers_of(tokens, inner, true);
  } else {
    work.layers = layers_of(text_tokens, inner, false);
    const LinearShapes image = layers_of(image_tokens, inner, false);
    work.layers.insert(work.layers.end(), image.begin(), image.end());
  }
  work.other_products = 4.0 * static_cast<double>(tokens * tokens * inner);
  for (const auto& [name, shape] : shapes) work.parameters += static_cast<double>(shape.elements());

  const flux::BlockContext<P> context{conditioning, rotary, text_tokens};
  measure_model<P>(
      state, work, [&] { return Block<P>(nn::Parameters(source) / prefix, config); },
      [&](const Block<P>& block) {
        Tensor<Activation> x = start.clone();
        block(x, context);
        benchmark::DoNotOptimize(x.data());
      });
}

template <PolicyType P>
void add(std::int64_t image_tokens) {
  const std::string size = std::string(name_of<P>) + "/" + std::to_string(image_tokens) + "+512";
  benchmark::RegisterBenchmark(("double_block/" + size).c_str(),
                               [=](benchmark::State& state) {
                                 run_block<P, flux::DoubleBlock>(state, "transformer_blocks.0",
                                                                 config_of(1, 0), image_tokens);
                               })
      ->UseManualTime()
      ->Iterations(3)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark(("single_block/" + size).c_str(),
                               [=](benchmark::State& state) {
                                 run_block<P, flux::SingleBlock>(state, "single_transformer_blocks.0",
                                                                 config_of(0, 1), image_tokens);
                               })
      ->UseManualTime()
      ->Iterations(3)
      ->Unit(benchmark::kMillisecond);
}

const bool added = [] {
  for (const std::int64_t image_tokens : {256, 1024})
    for_each_policy([&]<class P>(P*) { add<P>(image_tokens); });
  return true;
}();

}  // namespace
}  // namespace precast::bench
