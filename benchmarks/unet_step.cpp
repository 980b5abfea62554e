// A prediction of Stable Diffusion 1.5's UNet at full width, for pictures of 256 x 256 and 512 x 512 and a
// prompt of 77 tokens: one of the two of a step with guidance.
//
// Floor: 0.2 TFLOP at 256 x 256 and 0.8 at 512 x 512, two thirds of them in convolutions of 3 x 3; 0.86 G
// weights, each read once.
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <common/model_work.hpp>
#include <stable_diffusion/unet_model.hpp>
#include <stable_diffusion/unet_tensors.hpp>

namespace precast::bench {
namespace {

constexpr std::int64_t tokens = 77;

/// The level that a tensor's op writes, counted from the latents' size.
std::int64_t level_of(std::string_view name, std::int64_t levels) {
  const std::string_view blocks[] = {"down_blocks.", "up_blocks."};
  for (const std::string_view block : blocks) {
    if (!name.starts_with(block)) continue;
    std::int64_t index = 0;
    std::from_chars(name.data() + block.size(), name.data() + name.size(), index);
    if (block == blocks[0]) return index + (name.find("downsamplers") != std::string_view::npos ? 1 : 0);
    return levels - 1 - index - (name.find("upsamplers") != std::string_view::npos ? 1 : 0);
  }
  return name.starts_with("mid_block.") ? levels - 1 : 0;
}

/// The products of a prediction: linear layers, and convolutions as products with patches.
Work work_of(const stable_diffusion::UNetConfig& config, std::int64_t side) {
  Work work;
  const auto levels = std::ssize(config.levels);
  for (const auto& [name, shape] : stable_diffusion::unet_tensors(config)) {
    work.parameters += static_cast<double>(shape.elements());
    if (shape.rank() < 2) continue;
    const std::int64_t level = level_of(name, levels), there = side >> level, pixels = there * there;
    const bool of_time = name.find("time_emb") != std::string::npos;
    const bool of_prompt =
        name.find("attn2.to_k") != std::string::npos || name.find("attn2.to_v") != std::string::npos;
    work.layers.push_back({of_time ? 1 : of_prompt ? tokens : pixels, shape.elements() / shape[0], shape[0]});
    if (name.find("to_q") != std::string::npos)  // scores and their sums of values
      work.other_products += 4.0 * static_cast<double>(pixels * shape[0]) *
                             static_cast<double>(name.find("attn2") != std::string::npos ? tokens : pixels);
  }
  return work;
}

template <PolicyType P>
void run_unet(benchmark::State& state, std::int64_t picture) {
  const auto config =
      stable_diffusion::UNetConfig::from(io::Config("config.json", {{"cross_attention_dim", 768}}));
  testing::TensorShapes shapes;
  for (const auto& [name, shape] : stable_diffusion::unet_tensors(config)) shapes.emplace(name, shape);
  const testing::RandomSource<bf16> source(shapes);
  const HostTensor<f32> latents = random_tensor<f32>({1, picture / 8, picture / 8, config.in_channels}),
                        context = random_tensor<f32>({tokens, config.context_width});
  const stable_diffusion::Conditioning prompt{.context = context.view()};
  measure_model<P>(
      state, work_of(config, picture / 8), [&] { return stable_diffusion::make_unet<P>(config, source); },
      [&](const std::unique_ptr<stable_diffusion::UNet>& unet) {
        benchmark::DoNotOptimize(unet->predict(latents, 500, prompt).data());
      });
}

const bool small = add_model("unet_step", "256x256", 3,
                             []<class P>(P*, benchmark::State& state) { run_unet<P>(state, 256); });
const bool large = add_model("unet_step", "512x512", 1,
                             []<class P>(P*, benchmark::State& state) { run_unet<P>(state, 512); });

}  // namespace
}  // namespace precast::bench
