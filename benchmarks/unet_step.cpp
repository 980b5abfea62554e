// A prediction of the UNets of Stable Diffusion 1.5, for pictures of 256 x 256 and 512 x 512, and of SDXL,
// for 512 x 512, at full width and for a prompt of 77 tokens: one of the two of a step with guidance. Keys
// and values of the prompt are those of all steps, and were made before.
//
// Floor of SD 1.5: 0.18 TFLOP at 256 x 256 and 0.8 at 512 x 512, two thirds of them in convolutions of 3 x 3;
// 0.86 G weights, each read once. Of SDXL: 1.5 TFLOP and 2.57 G weights.
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include <common/model_work.hpp>
#include <common/unet_parts.hpp>
#include <stable_diffusion/released_unets.hpp>
#include <stable_diffusion/unet_model.hpp>
#include <stable_diffusion/unet_tensors.hpp>

namespace precast::bench {
namespace {

/// A UNet, and what all of its predictions for a prompt share.
template <PolicyType P>
struct Loaded {
  stable_diffusion::UNetModel<P> unet;
  stable_diffusion::UNetInputs<P> inputs;
};

enum class Mark : bool { none, onednn };

/// Against oneDNN's own products of the same layers, which hold the weights once more, or by the clock alone.
template <PolicyType P>
void run_unet(benchmark::State& state, const stable_diffusion::UNetConfig& config, std::int64_t picture,
              Mark mark) {
  const testing::RandomSource<bf16> source(tensors_of_unet(config));
  const Tensor<f32> latents = random_tensor<f32>({1, picture / 8, picture / 8, config.in_channels}),
                    time = random_tensor<f32>({1, 1});
  const RandomPrompt random(config, picture);
  const stable_diffusion::Conditioning prompt = random.conditioning();
  Work work = work_of_unet(config, picture / 8);
  if (mark == Mark::none) {
    work.other_products += flops_of(work.layers);
    work.layers.clear();
  }
  measure_model<P>(
      state, work,
      [&] {
        stable_diffusion::UNetModel<P> unet(config, nn::ParameterPath(source));
        auto inputs = unet.prepare(std::span(&prompt, 1));
        return Loaded<P>{std::move(unet), std::move(inputs)};
      },
      [&](const Loaded<P>& loaded) {
        benchmark::DoNotOptimize(loaded.unet.predict(loaded.inputs, latents.view(), time.view()).data());
      });
}

const bool small = add_model("unet_step", "256x256", 3, []<class P>(P*, benchmark::State& state) {
  run_unet<P>(state, testing::released_unet("1.5").parsed(), 256, Mark::onednn);
});
const bool large = add_model("unet_step", "512x512", 1, []<class P>(P*, benchmark::State& state) {
  run_unet<P>(state, testing::released_unet("1.5").parsed(), 512, Mark::onednn);
});
const bool xl = add_model("unet_xl_step", "512x512", 1, []<class P>(P*, benchmark::State& state) {
  run_unet<P>(state, testing::released_unet("XL").parsed(), 512, Mark::none);
});

}  // namespace
}  // namespace precast::bench
