// A Flux transformer at full width, 1024 + 512 tokens, with 2 double and 4 single blocks: what a whole model
// holds at its peak beside its weights. The 57 blocks of Flux.1 share the same results of ops, and have 9
// times the weights.
//
// Floor: 1.3 G weights, and while a single block runs the values of all tokens (19 MB in f32), as many of
// what the block adds, and five times as many that its last layer reads.
#include <string>
#include <vector>

#include <common/model_work.hpp>
#include <flux/transformer_model.hpp>

namespace precast::bench {
namespace {

template <PolicyType P>
void run_transformer(benchmark::State& state) {
  flux::TransformerConfig config;
  config.num_layers = 2;
  config.num_single_layers = 4;
  config.guidance_embeds = true;
  const testing::TensorShapes shapes = testing::tensors_of(config);
  const testing::RandomSource<bf16> source(shapes);
  const Tensor<f32> latents = random_tensor<f32>({1024, config.in_channels});
  const Tensor<f32> prompt = random_tensor<f32>({512, config.joint_attention_dim});
  const Tensor<f32> pooled = random_tensor<f32>({1, config.pooled_projection_dim});
  flux::TransformerInput input{latents, prompt, pooled, 0.5f, 3.5f, 32, 32};
  Work work;
  for (const auto& [name, shape] : shapes) work.parameters += static_cast<double>(shape.elements());
  measure_model<P>(
      state, work, [&] { return flux::make_transformer<P>(config, source); },
      [&](const std::unique_ptr<flux::BlockwiseTransformer>& transformer) {
        benchmark::DoNotOptimize(transformer->velocity(input).data());
      });
}

const bool added = add_model("transformer", "1024+512", 1,
                             []<class P>(P*, benchmark::State& state) { run_transformer<P>(state); });

}  // namespace
}  // namespace precast::bench
