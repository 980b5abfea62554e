// How many launches a step of Flux-dev has, in bf16 with flash attention: counted in the emulator for one
// block of each kind, whose number does not depend on their width, and multiplied. Compiled with
// PRECAST_EMULATE_CUDA.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda/host_library.hpp>
#include <flux/transformer_model.hpp>
#include <simt/session.hpp>
#include <support/random_model.hpp>

#include <precast/cuda/runtime/own_stream.hpp>
#include <precast/policy/presets.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// Kernels and products of the library, by name.
using Launches = std::map<std::string, int>;

Launches operator-(Launches of_more, const Launches& of_fewer) {
  for (const auto& [name, count] : of_fewer) of_more[name] -= count;
  std::erase_if(of_more, [](const auto& entry) { return entry.second == 0; });
  return of_more;
}

int total(const Launches& launches) {
  int sum = 0;
  for (const auto& [name, count] : launches) sum += count;
  return sum;
}

std::string listed(const Launches& launches) {
  std::string text;
  for (const auto& [name, count] : launches) text += " " + name + " x " + std::to_string(count);
  return text;
}

/// What one step launches in a transformer of so many blocks.
Launches launches_of_step(std::int64_t double_blocks, std::int64_t single_blocks) {
  // Enough tokens for the library's products, and for none of our kernels to take a short cut.
  const flux::TransformerConfig config{.in_channels = 16,
                                       .out_channels = 16,
                                       .num_layers = double_blocks,
                                       .num_single_layers = single_blocks,
                                       .attention_head_dim = 32,
                                       .num_attention_heads = 2,
                                       .joint_attention_dim = 24,
                                       .pooled_projection_dim = 8,
                                       .guidance_embeds = true,
                                       .axes_dims_rope = {8, 12, 12}};
  constexpr std::int64_t rows = 4, columns = 5, text = 12;
  const RandomSource<bf16> source(tensors_of(config));
  const gpu::OwnStream stream;
  HostLibrary host;
  const gpu::LibraryScope library(host.library());
  const auto model = flux::make_transformer<presets::Fast>(config, source);
  const auto in_steps = [&](std::size_t steps) {
    HostTensor<f32> latents(Shape{rows * columns, config.in_channels}),
        prompt(Shape{text, config.joint_attention_dim}), pooled(Shape{1, config.pooled_projection_dim});
    for (auto* const tensor : {&latents, &prompt, &pooled}) std::ranges::fill(tensor->values(), 0.5f);
    const flux::TransformerInput input{.latents = {},
                                       .prompt = prompt.view(),
                                       .pooled = pooled.view(),
                                       .guidance = 3.5f,
                                       .rows = rows,
                                       .columns = columns};
    const std::vector<flux::DenoiseStep> each(steps, {0.5f, -0.1f});
    host.multiplied.clear();
    const simt::Session session;
    model->denoise(latents.view(), input, each, [](std::int64_t) {});
    Launches launches{{"library", static_cast<int>(host.multiplied.size())}};
    for (const simt::LaunchRecord& launch : session.launches()) ++launches[launch.kernel];
    return launches;
  };
  return in_steps(3) - in_steps(2);
}

}  // namespace

TEST_CASE("a step of Flux-dev has as few launches as it should") {
  const Launches one_of_each = launches_of_step(1, 1);
  const Launches double_block = launches_of_step(2, 1) - one_of_each,
                 single_block = launches_of_step(1, 2) - one_of_each;
  const Launches rest = one_of_each - double_block - single_block;
  const int step = total(rest) + 19 * total(double_block) + 38 * total(single_block);
  WARN("a double block:" << listed(double_block) << "\na single block:" << listed(single_block)
                         << "\nthe rest:" << listed(rest) << "\na step of Flux-dev: " << step << " launches");
  // Layers are products and nothing else: no launch converts a weight or a bias. What is left of round_values
  // rounds latents and prompt.
  CHECK(double_block.at("library") + double_block.at("skinny_gemm") == 14);
  CHECK(single_block.at("library") + single_block.at("skinny_gemm") == 6);
  CHECK(double_block.count("round_values") + single_block.count("round_values") == 0);
  CHECK(rest.at("round_values") == 2);
  CHECK(double_block.count("convert_values") + single_block.count("convert_values") == 0);
  CHECK(step <= 1050);
}
