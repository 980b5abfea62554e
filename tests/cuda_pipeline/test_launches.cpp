// How many launches a step of Flux-dev has, in bf16 with flash attention: counted in the emulator for one
// block of each kind, whose number does not depend on their width, and multiplied. Compiled with
// PRECAST_EMULATE_CUDA.
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda/host_library.hpp>
#include <flux/transformer_model.hpp>
#include <simt/session.hpp>
#include <support/arrays.hpp>
#include <support/block_source.hpp>
#include <support/random_model.hpp>

#include <precast/cuda/matmul/block_product_kernels.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
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

/// Wide enough, with the tests' tokens, for the library's products, and for none of our kernels to take a
/// short cut.
flux::TransformerConfig small_transformer(std::int64_t double_blocks, std::int64_t single_blocks) {
  return {.in_channels = 16,
          .out_channels = 16,
          .num_layers = double_blocks,
          .num_single_layers = single_blocks,
          .attention_head_dim = 32,
          .num_attention_heads = 2,
          .joint_attention_dim = 24,
          .pooled_projection_dim = 8,
          .guidance_embeds = true,
          .axes_dims_rope = {8, 12, 12}};
}

/// What one step launches in a transformer of so many blocks.
Launches launches_of_step(std::int64_t double_blocks, std::int64_t single_blocks) {
  const flux::TransformerConfig config = small_transformer(double_blocks, single_blocks);
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
    model->denoise(latents.view(), {input, each}, [](std::int64_t) {});
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

TEST_CASE("a callback of latents costs a step one wait, and what is prepared and recorded serves all steps") {
  const flux::TransformerConfig config = small_transformer(1, 1);
  constexpr std::int64_t rows = 4, columns = 5, text = 12;
  const RandomSource<bf16> source(tensors_of(config));
  const gpu::OwnStream stream;
  const auto model = flux::make_transformer<presets::Fast>(config, source);
  const auto prompt = random_tensor<f32>({text, config.joint_attention_dim}, 1),
             pooled = random_tensor<f32>({1, config.pooled_projection_dim}, 2);
  struct Costs {
    std::int64_t waits, uploads;
    HostTensor<f32> latents;
  };
  using Seen = std::vector<std::pair<std::int64_t, std::int64_t>>;
  for (const bool guided : {false, true}) {
    CAPTURE(guided);
    const auto in_steps = [&](std::size_t steps, std::int64_t every, Seen* seen = nullptr) {
      auto latents = random_tensor<f32>({rows * columns, config.in_channels}, 3);
      const std::vector<flux::DenoiseStep> each(steps, {0.5f, -0.1f});
      flux::DenoiseInput input{{{}, prompt, pooled, 0, 3.5f, rows, columns}, each};
      if (guided) input.negative = flux::NegativePrompt{prompt, pooled, 2};
      auto last = latents.clone();
      if (every > 0)
        input.latents_callback =
            families::LatentsCallback{every, [&](std::int64_t previous, HostView<const f32> before,
                                                 std::int64_t step, HostView<const f32> now) {
                                        CHECK(std::ranges::equal(before.values(), last.values()));
                                        last = HostTensor<f32>(now.shape(), now.values());
                                        if (seen) seen->emplace_back(previous, step);
                                      }};
      const simt::Session session;
      model->denoise(latents, input, [](std::int64_t) {});
      if (every > 0) CHECK(same_bits(last, latents));
      return Costs{session.waits(), session.uploads(), std::move(latents)};
    };
    const Costs plain = in_steps(5, 0);
    Seen seen;
    const Costs shown = in_steps(5, 2, &seen);
    CHECK(seen == Seen{{0, 2}, {2, 4}, {4, 5}});
    CHECK(same_bits(shown.latents, plain.latents));
    CHECK(shown.uploads == plain.uploads);
    CHECK(shown.waits == plain.waits + 3);
    CHECK(in_steps(5, 1).waits == plain.waits + 5);
    const Costs longer = in_steps(9, 0);
    CHECK(longer.uploads == plain.uploads);
    CHECK(longer.waits - plain.waits == 9 - 5);  // each of a replay for the one before the last
  }
}

namespace {

using TwoFormats = BlockFormatList<BlockFormatEntry<q8_0, 8>, BlockFormatEntry<q4_k, 12>>;
const gpu::BlockProductsRegistration products_in_bf16{gpu::block_products<bf16, TwoFormats>};
const gpu::BlockProductsRegistration products_in_f32{gpu::block_products<f32, TwoFormats>};

/// A step of a transformer of one block of each kind.
struct Step {
  std::int64_t weights = 0;  ///< bytes in use once it is loaded
  Launches launches;
  HostTensor<f32> latents;
};

Step step_of(const flux::TransformerConfig& config, const nn::ParameterSource& source) {
  constexpr std::int64_t rows = 4, columns = 5, text = 12;
  const gpu::OwnStream stream;
  const std::int64_t before = gpu::memory_use().in_use;
  const auto model = flux::make_transformer<presets::Fast>(config, source);
  Step step{
      gpu::memory_use().in_use - before, {}, HostTensor<f32>(Shape{rows * columns, config.in_channels})};
  const auto random = [](const Shape& shape, std::uint32_t seed) { return random_tensor<f32>(shape, seed); };
  const auto prompt = random({text, config.joint_attention_dim}, 1),
             pooled = random({1, config.pooled_projection_dim}, 2);
  step.latents = random({rows * columns, config.in_channels}, 3);
  const flux::TransformerInput input{.latents = {},
                                     .prompt = prompt.view(),
                                     .pooled = pooled.view(),
                                     .guidance = 3.5f,
                                     .rows = rows,
                                     .columns = columns};
  const simt::Session session;
  const flux::DenoiseStep single{0.5f, -0.5f};
  model->denoise(step.latents.view(), {input, std::span(&single, 1)}, [](std::int64_t) {});
  for (const simt::LaunchRecord& launch : session.launches()) ++step.launches[launch.kernel];
  return step;
}

double distance(const HostTensor<f32>& a, const HostTensor<f32>& b) {
  double sum = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i)
    sum += (a.data()[i] - b.data()[i]) * double{a.data()[i] - b.data()[i]};
  return sum;
}

}  // namespace

TEST_CASE("blocks of Flux multiply weights in q4_k and q8_0 as they lie, and hold no decoded copy") {
  const flux::TransformerConfig config{.in_channels = 16,
                                       .out_channels = 16,
                                       .num_layers = 1,
                                       .num_single_layers = 1,
                                       .attention_head_dim = 64,
                                       .num_attention_heads = 4,
                                       .joint_attention_dim = 256,
                                       .pooled_projection_dim = 96,
                                       .guidance_embeds = true,
                                       .axes_dims_rope = {16, 24, 24}};
  const RandomSource<bf16> values(tensors_of(config));
  BlockSource source(values, [](std::string_view, const Shape& shape) -> std::string_view {
    return shape[1] % 256 == 0 ? "q4_k" : shape[1] % 32 == 0 ? "q8_0" : "";
  });
  const Step packed = step_of(config, source);
  // Each matrix takes the bytes of its blocks in the place of those of its values, and nothing else is there.
  std::int64_t less = 0;
  source.for_each_matrix([&](std::size_t count, std::size_t bytes) {
    less += static_cast<std::int64_t>(gpu::DeviceMemory::rounded(count * sizeof(bf16))) -
            static_cast<std::int64_t>(gpu::DeviceMemory::rounded(bytes));
  });
  source.give(BlockSource::Give::values);
  const Step dense = step_of(config, source);
  INFO("with values:" << listed(dense.launches) << "\nwith blocks:" << listed(packed.launches));
  CHECK(dense.weights - packed.weights == less);
  CHECK(less > dense.weights / 2);
  // The same launches, but that other kernels multiply; layers whose columns no format divides stay as they
  // are. What comes in f32 is rounded to operands first.
  const auto count = [](const Launches& launches, const char* name) {
    const auto found = launches.find(name);
    return found == launches.end() ? 0 : found->second;
  };
  CHECK(count(dense.launches, "block_gemv") + count(dense.launches, "block_matmul") == 0);
  CHECK(count(packed.launches, "block_gemv") + count(packed.launches, "skinny_gemm") ==
        count(dense.launches, "skinny_gemm"));
  CHECK(count(packed.launches, "block_matmul") + count(packed.launches, "matmul") ==
        count(dense.launches, "matmul"));
  CHECK(count(packed.launches, "block_matmul") >= 18);
  CHECK(count(packed.launches, "matmul") <= 1);       // latents of 16 columns
  CHECK(count(packed.launches, "skinny_gemm") == 0);  // pooled text, times and guidance are in blocks
  CHECK(total(packed.launches) - total(dense.launches) ==
        count(packed.launches, "round_values") - count(dense.launches, "round_values"));
  // Sums of few rows are added in another order; other values are further off than that.
  const Step original = step_of(config, values);
  CHECK(distance(packed.latents, dense.latents) < distance(dense.latents, original.latents));
}
