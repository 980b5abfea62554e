// Decoding a 512 x 512 picture with the autoencoder of Flux: channels 128, 256, 512, 512, 16 latents, 32
// groups.
//
// Floor: 2.5 TFLOP in its convolutions, 70% of it at 256 x 256 and above, and 0.03 in attention; the layers
// at 512 x 512 read and write 134 MB in f32 for each of their convolutions and norms. The weights, 50 M, do
// not matter.
#include <string>

#include <common/model_work.hpp>
#include <vae/autoencoder_template.hpp>

namespace precast::bench {
namespace {

/// Operations of a decoder's convolutions and middle attention, for latents of side * side.
double decoder_flops(const vae::AutoencoderConfig& config, std::int64_t side) {
  double products = 0;
  const auto conv = [&](std::int64_t in, std::int64_t out, std::int64_t kernel) {
    products += static_cast<double>(side * side * in * out * kernel * kernel);
  };
  const auto residual = [&](std::int64_t in, std::int64_t out) {
    conv(in, out, 3);
    conv(out, out, 3);
    if (in != out) conv(in, out, 1);
  };
  std::int64_t before = config.block_out_channels.back();
  conv(config.latent_channels, before, 3);
  residual(before, before);
  residual(before, before);
  for (int projection = 0; projection < 4; ++projection) conv(before, before, 1);
  products += 2.0 * static_cast<double>(side * side * side * side * before);
  for (std::size_t i = config.block_out_channels.size(); i-- > 0;) {
    const std::int64_t after = config.block_out_channels[i];
    for (std::int64_t j = 0; j <= config.layers_per_block; ++j) residual(j == 0 ? before : after, after);
    before = after;
    if (i == 0) break;
    side *= 2;
    conv(after, after, 3);
  }
  conv(before, config.out_channels, 3);
  return 2 * products;
}

template <PolicyType P>
void run_decoder(benchmark::State& state) {
  const vae::AutoencoderConfig config;
  const std::int64_t side = 512 / config.factor();
  testing::TensorShapes shapes = testing::tensors_of(config);
  std::erase_if(shapes, [](const auto& entry) { return !entry.first.starts_with("decoder."); });
  const testing::RandomSource<bf16> source(shapes);
  const Tensor<f32> latents = random_tensor<f32>({1, side, side, config.latent_channels});
  Work work;
  work.other_products = decoder_flops(config, side);
  for (const auto& [name, shape] : shapes) work.parameters += static_cast<double>(shape.elements());
  measure_model<P>(
      state, work, [&] { return vae::DecoderTemplate<P>(config, nn::ParameterPath(source)); },
      [&](const vae::DecoderTemplate<P>& decoder) {
        benchmark::DoNotOptimize(decoder.decode(latents, vae::Tiling{}).data());
      });
}

const bool added = add_model("vae_decode", "512x512", 1,
                             []<class P>(P*, benchmark::State& state) { run_decoder<P>(state); });

}  // namespace
}  // namespace precast::bench
