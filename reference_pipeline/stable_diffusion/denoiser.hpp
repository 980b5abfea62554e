// Denoiser: a UNet with the sampling loop, all of which stays on its backend.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <families/blocks.hpp>
#include <families/denoising_loop.hpp>
#include <sampling/sampler.hpp>
#include <stable_diffusion/unet.hpp>

#include <precast/backend.hpp>
#include <precast/nn/parameter_source.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::stable_diffusion {

/// The area around an inpainting mask, which is restored after every step. All [1, h, w, channels], f32, in
/// host memory.
struct InpaintingInputs {
  HostView<const f32> clean;  ///< latents of the picture
  HostView<const f32> noise;  ///< added to them at each level
  HostView<const f32> mask;   ///< 1 where the picture is repainted, else 0
};

/// The inputs for denoising one picture. Objects referred to must outlive the loop.
struct DenoiseInput {
  const sampling::Sampler& sampler;
  std::vector<Conditioning> conditionings;  ///< {negative, prompt}, or the prompt alone
  f32 guidance = 1;                         ///< classifier-free guidance scale, with two conditionings
  f32 guidance_rescale = 0;                 ///< the fraction of the prediction that is rescaled
  /// Returns [1, h, w, channels] for a call whose step draws noise.
  std::function<HostTensor<f32>(std::int64_t call)> noise;
  std::optional<InpaintingInputs> inpainting = std::nullopt;
  /// [1, h, w, more channels] concatenated to the latents for the UNet: a mask and a masked picture.
  std::optional<HostView<const f32>> extra_channels = std::nullopt;
  /// Both count calls as steps.
  std::optional<families::LatentsCallback> latents_callback = std::nullopt;
  std::optional<families::Recording> recording = std::nullopt;  ///< its picture index stays 0
};

/// Called with the number of each call before it starts. May throw to cancel.
using BeforeCall = std::function<void(std::int64_t)>;

/// A loaded UNet with its loop.
class Denoiser {
 public:
  virtual ~Denoiser() = default;
  /// Runs `latents` [1, h, w, channels] through all calls of the sampler; a dry run only
  /// through families::steps_to_run of them.
  virtual void denoise(HostView<f32> latents, const DenoiseInput& input,
                       const BeforeCall& before_call) const = 0;
  /// The UNet alone.
  virtual const UNet& unet() const = 0;
  virtual UNet& unet() = 0;
};

inline namespace PRECAST_BACKEND {

/// Loads a UNet under a policy. Instances are compiled in kernels/, one unit a policy.
template <PolicyType P>
std::unique_ptr<Denoiser> make_denoiser(const UNetConfig& config, const nn::ParameterSource& source);

}  // namespace PRECAST_BACKEND

}  // namespace precast::stable_diffusion
