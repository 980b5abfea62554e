// Decoding a 512 x 512 picture with the autoencoder of Flux: channels 128, 256, 512, 512, 16 latents, 32
// groups.
//
// Floor: 2.5 TFLOP in its convolutions, 70% of it at 256 x 256 and above, and 0.03 in attention; the layers
// at 512 x 512 read and write 134 MB in f32 for each of their convolutions and norms. The weights, 50 M, do
// not matter.
#include <string>

#include <common/decoder_parts.hpp>
#include <common/model_work.hpp>
#include <common/parameters.hpp>
#include <vae/autoencoder_template.hpp>

namespace precast::bench {
namespace {

template <PolicyType P>
void run_decoder(benchmark::State& state) {
  const vae::AutoencoderConfig config;
  const std::int64_t side = 512 / config.factor();
  const testing::TensorShapes shapes = tensors_of_decoder(config);
  const testing::RandomSource<bf16> source(shapes);
  const Tensor<f32> latents = random_tensor<f32>({1, side, side, config.latent_channels});
  Work work;
  work.other_products = decoder_flops(config, side);
  work.parameters = parameters_of(shapes);
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
