// The denoising loop as a template over the policy. Only kernels/ includes this.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <families/denoising_loop.hpp>
#include <sampling/sampler_state.hpp>
#include <stable_diffusion/denoiser.hpp>
#include <stable_diffusion/unet_model.hpp>

#include <precast/backend.hpp>
#include <precast/backend/replay.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/ops/sampler.hpp>
#include <precast/tensor/arrived.hpp>
#include <precast/watch/observer.hpp>

namespace precast::stable_diffusion {

inline namespace PRECAST_BACKEND {

template <PolicyType P>
class DenoiserTemplate final : public Denoiser {
 public:
  DenoiserTemplate(const UNetConfig& config, const nn::ParameterPath& place)
      : config_(config), unet_(config, place) {}

  void denoise(HostView<f32> latents, const DenoiseInput& input,
               const BeforeCall& before_call) const override {
    const UNetInputs<P> inputs = unet_.prepare(input.conditionings);
    const std::int64_t calls = families::steps_to_run(input.sampler.calls());
    const bool guided = input.conditionings.size() > 1;
    sampling::SamplerState sampler(input.sampler, latents.shape());
    Tensor<f32> state(latents.shape(), latents.values()), time(Shape{1, 1});
    Tensor<f32> taken = with_extra_channels(latents, input);  // the UNet's input
    const View<f32> taken_latents = taken.view().columns_between(0, latents.columns());
    Tensor<f32> predicted(
        Shape{std::ssize(input.conditionings), latents.shape()[1], latents.shape()[2], config_.out_channels});
    const View<f32> wanted = picture_of(predicted, guided ? 1 : 0);
    const InpaintingTensors inpainting(input.inpainting);
    const Tensor<f32> times = timesteps(input.sampler);
    const auto predict = [&] {
      const Tensor<f32> result = unet_.predict(inputs, taken.view(), time.view());
      backend::Memory::copy(predicted.data(), result.data(), bytes_of(predicted));
    };
    families::LatentsObserver observer(input.latents_callback, latents);
    backend::Replay replay;
    for (std::int64_t call = 0; call < calls; ++call) {
      before_call(call);
      backend::Memory::copy(time.data(), times.data() + call, sizeof(f32));
      sampler.model_input_into(call, state.view(), taken_latents);
      families::record(input.recording, call, input.sampler.timestep(call), [&] {
        return unet_.state_before_blocks(inputs, input.conditionings, taken.view(), time.view());
      });
      if (watch::active())
        predict();  // not replayed: the observer must see every op
      else
        replay(predict);
      if (guided) {
        const View<f32> guidance = picture_of(predicted, 0);
        guide_into(guidance, wanted, input.guidance, guidance);
        if (input.guidance_rescale > 0)
          rescale_guidance_into(guidance, wanted, input.guidance_rescale, guidance);
      }
      const View<const f32> prediction = picture_of(predicted, 0);
      if (input.sampler.draws_noise(call)) {
        const Tensor<f32> noise = arrived(input.noise(call));
        sampler.step(call, state.view(), prediction, noise.view());
      } else {
        sampler.step(call, state.view(), prediction);
      }
      if (input.inpainting) {
        const sampling::NoiseMix mix = input.sampler.noise_mix(call + 1);
        repaint_into(state.view(), inpainting.clean.view(), inpainting.noise.view(), inpainting.mask.view(),
                     {.from_clean = mix.from_clean, .from_noise = mix.from_noise}, state.view());
      }
      observer.after(call + 1, calls, state);
    }
    backend::Memory::copy_to_host(latents.data(), state.data(), bytes_of(state));
  }

  const UNet& unet() const override { return unet_; }
  UNet& unet() override { return unet_; }

 private:
  /// InpaintingInputs in the backend's memory.
  struct InpaintingTensors {
    explicit InpaintingTensors(const std::optional<InpaintingInputs>& host) {
      if (!host) return;
      clean = Tensor<f32>(host->clean.shape(), host->clean.values());
      noise = Tensor<f32>(host->noise.shape(), host->noise.values());
      mask = Tensor<f32>(host->mask.shape(), host->mask.values());
    }
    Tensor<f32> clean, noise, mask;
  };

  static std::size_t bytes_of(const Tensor<f32>& tensor) {
    return static_cast<std::size_t>(bytes_for<f32>(tensor.elements()));
  }
  /// Picture `index` of [n, h, w, channels]: [1, h, w, channels].
  static View<f32> picture_of(Tensor<f32>& pictures, std::int64_t index) {
    const Shape& shape = pictures.shape();
    return pictures.view()
        .rows_between(index * shape[1] * shape[2], shape[1] * shape[2])
        .reshaped(Shape{1, shape[1], shape[2], shape[3]});
  }
  /// The timesteps of all calls, so that no step copies one from the host.
  static Tensor<f32> timesteps(const sampling::Sampler& sampler) {
    std::vector<f32> times;
    for (std::int64_t call = 0; call < sampler.calls(); ++call) times.push_back(sampler.timestep(call));
    return Tensor<f32>(Shape{std::ssize(times)}, times);
  }
  /// [1, h, w, in_channels]; the first channels are overwritten by the latents in each step.
  Tensor<f32> with_extra_channels(HostView<const f32> latents, const DenoiseInput& input) const {
    const std::int64_t first = latents.columns(),
                       more = input.extra_channels ? input.extra_channels->columns() : 0;
    if (first + more != config_.in_channels)
      throw ShapeError("unet: " + std::to_string(first + more) + " channels do not fit its in_channels, " +
                       std::to_string(config_.in_channels) +
                       ": the components of the model folder belong to different models");
    HostTensor<f32> both(Shape{1, latents.shape()[1], latents.shape()[2], first + more});
    for (std::int64_t row = 0; row < latents.rows() && !DryRun::active(); ++row) {
      std::ranges::fill_n(both.data() + row * both.columns(), first, 0.0f);
      if (more) std::ranges::copy(input.extra_channels->row(row), both.data() + row * both.columns() + first);
    }
    return arrived(std::move(both));
  }

  UNetConfig config_;
  UNetModel<P> unet_;
};

template <PolicyType P>
std::unique_ptr<Denoiser> make_denoiser(const UNetConfig& config, const nn::ParameterSource& source) {
  return std::make_unique<DenoiserTemplate<P>>(config, nn::ParameterPath(source));
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::stable_diffusion
