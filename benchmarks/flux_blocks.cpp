// A double and a single block of Flux at full width: 3072 wide, 24 heads of 128, 512 text tokens.
//
// Floors, for T tokens in all: a double block multiplies 24 T 3072^2 in its layers and attention 4 T^2 3072,
// so for T = 768 174 + 7.2 GFLOP, for 1536 348 + 29; a single block is the same 24 T 3072^2 and 4 T^2 3072.
// Bytes: every weight once, 340 M and 142 M values; the modulations, which have one row, take 113 M and 28 M
// of them, and nothing hides their reading. Activations are 2 to 9 MB each and stay in the third-level cache.
#include <string>

#include <common/flux_parts.hpp>
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

template <PolicyType P, template <class> class Block>
void run_block(benchmark::State& state, const std::string& prefix, const flux::TransformerConfig& config,
               std::int64_t image_tokens) {
  using Activation = typename P::activation;
  constexpr bool single = std::is_same_v<Block<P>, flux::SingleBlock<P>>;
  const Tokens tokens{text_tokens, image_tokens};
  const testing::TensorShapes shapes = tensors_under(prefix, config);
  const testing::RandomSource<bf16> source(shapes);
  const RotaryTable rotary = positions(config, tokens);
  const Tensor<Activation> conditioning = random_tensor<Activation>({1, config.inner_dim()});
  const Tensor<Activation> start = random_tensor<Activation>({tokens.all(), config.inner_dim()});
  Work work = work_of_block(config, single, tokens);
  work.parameters = parameters_of(shapes);
  const flux::BlockContext<P> context{conditioning, rotary, text_tokens};
  measure_model<P>(
      state, work, [&] { return Block<P>(nn::ParameterPath(source) / prefix, config); },
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
