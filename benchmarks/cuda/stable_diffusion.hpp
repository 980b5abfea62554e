// A prediction of Stable Diffusion's UNets, and the autoencoder that decodes their pictures, under one
// policy.
//
// Floors: SD 1.5 multiplies 0.8 TFLOP for a picture of 512 x 512 and reads its 0.86 G weights once, SDXL 6.0
// TFLOP for one of 1024 x 1024 and 2.57 G weights; a decoder of such a picture 10 TFLOP. Two thirds are
// convolutions of 3 x 3, whose library reads a picture nine times at worst and once at best.
#pragma once

#include <memory>
#include <span>
#include <string>

#include <common/decoder_parts.hpp>
#include <common/parameters.hpp>
#include <common/policies.hpp>
#include <common/random_tensor.hpp>
#include <common/unet_parts.hpp>
#include <cuda/largest_product.hpp>
#include <cuda/measure.hpp>
#include <cuda/suite.hpp>
#include <stable_diffusion/unet_model.hpp>
#include <support/random_model.hpp>
#include <vae/autoencoder_template.hpp>

#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/cuda/runtime/replay.hpp>

namespace precast::bench {

namespace detail {

/// One of the two predictions of a step with guidance, replayed as a graph as in the pipeline. Keys and
/// values of the prompt are those of all steps, and were made before.
template <PolicyType P>
void run_unet(benchmark::State& state, const Suite& suite, const UNetSize& size) {
  const stable_diffusion::UNetConfig& config = size.config;
  const testing::RandomSource<bf16> source(tensors_of_unet(config));
  const Work work = work_of_unet(config, size.picture / 8);
  const auto latents = random_tensor<f32>({1, size.picture / 8, size.picture / 8, config.in_channels});
  const auto time = random_tensor<f32>({1, 1});
  const RandomPrompt random(config, size.picture);
  const stable_diffusion::Conditioning prompt = random.conditioning();
  const PeakMemory peak;
  const stable_diffusion::UNetModel<P> unet(config, nn::ParameterPath(source));
  const auto inputs = unet.prepare(std::span(&prompt, 1));
  const auto predict = [&] { return unet.predict(inputs, latents.view(), time.view()); };
  require_result(predict());
  state.counters["memory"] = peak.over_weights<P>(work.parameters);
  gpu::Replay replay;
  using Operand = typename precisions<P, Matmul>::operand;
  compare_with_largest_product<Operand>(state, suite, work.flops(),
                                        [&] { replay([&] { (void)predict(); }); });
}

/// From latents of the host to pixels of the host, as a picture is decoded: once, and not as a graph.
template <PolicyType P>
void run_decoder(benchmark::State& state, const Suite& suite) {
  const vae::AutoencoderConfig& config = suite.sizes.autoencoder;
  const std::int64_t side = suite.sizes.decoded_picture / config.factor();
  const testing::TensorShapes shapes = tensors_of_decoder(config);
  const testing::RandomSource<bf16> source(shapes);
  const HostTensor<f32> latents = to_host(random_tensor<f32>({1, side, side, config.latent_channels}));
  const PeakMemory peak;
  const vae::DecoderTemplate<P> decoder(config, nn::ParameterPath(source));
  const auto decode = [&] { return decoder.decode(latents, vae::Tiling{}); };
  require_result(decode());
  state.counters["memory"] = peak.over_weights<P>(parameters_of(shapes));
  using Operand = typename precisions<P, Matmul>::operand;
  compare_with_largest_product<Operand>(state, suite, decoder_flops(config, side), [&] { (void)decode(); });
}

}  // namespace detail

template <PolicyType P>
void add_stable_diffusion(const Suite& suite) {
  const std::string policy = std::string("/") + name_of<P> + "/";
  using Operand = typename precisions<P, Matmul>::operand;
  const double largest = LargestProduct<Operand>::bytes(suite.sizes.largest_product),
               wide = sizeof(typename P::activation);
  for (const UNetSize& size : suite.sizes.unets) {
    const auto pixels = static_cast<double>(size.picture / 8) * static_cast<double>(size.picture / 8);
    const double scores = P::flash ? 0 : 16 * pixels * pixels * wide,
                 weights = work_of_unet(size.config, size.picture / 8).parameters * wide;
    add(suite, size.kind + policy + size_text(size.picture, size.picture), 10,
        weights + largest + 2 * (scores + 40 * pixels * 640 * wide),
        [&suite, &size](benchmark::State& state) { detail::run_unet<P>(state, suite, size); });
  }
  const std::int64_t picture = suite.sizes.decoded_picture;
  const auto width = static_cast<double>(suite.sizes.autoencoder.block_out_channels.front());
  add(suite, "vae_decode" + policy + size_text(picture, picture), 10,
      largest + 8 * static_cast<double>(picture * picture) * width * wide,
      [&suite](benchmark::State& state) { detail::run_decoder<P>(state, suite); });
}

}  // namespace precast::bench
