// Denoiser: a UNet with the loop around it, which stays on its backend from the first step to the last.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <families/blocks.hpp>
#include <sampling/sampler.hpp>
#include <stable_diffusion/unet.hpp>

#include <precast/backend.hpp>
#include <precast/nn/parameter_source.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::stable_diffusion {

/// What lies around the mask of inpainting, and is put back after every step. All [1, h, w, channels], f32,
/// in the host's memory.
struct Surroundings {
  HostView<const f32> clean;  ///< the latents of the picture
  HostView<const f32> noise;  ///< what they are noised with
  HostView<const f32> mask;   ///< 1 where the picture is painted anew, else 0
};

/// A wish to see latents between steps.
struct Look {
  std::int64_t every = 1;  ///< calls from one look to the next; the last call has one
  /// Is given the latents after `call` - 1 calls and those before the last look's.
  std::function<void(std::int64_t call, HostView<const f32> before, HostView<const f32> now)> show;
};

/// What one picture is denoised with. What it refers to must outlive the loop.
struct DenoiseInput {
  const sampling::Sampler& sampler;
  std::vector<Conditioning> conditionings;  ///< {negative, prompt}, or the prompt alone
  f32 guidance = 1;                         ///< of two conditionings: classifier-free guidance
  f32 guidance_rescale = 0;                 ///< the share that is rescaled
  /// [1, h, w, channels] for a call whose step draws noise.
  std::function<HostTensor<f32>(std::int64_t call)> noise;
  std::optional<Surroundings> around = std::nullopt;
  /// [1, h, w, more channels] that the UNet takes beside the latents: a mask and a masked picture.
  std::optional<HostView<const f32>> beside = std::nullopt;
  std::optional<Look> look = std::nullopt;
  /// A wish for what the UNet's blocks start from: steps are calls, and the picture's number is left at 0.
  std::optional<families::Recording> recording = std::nullopt;
};

/// Is called with the number of each call before it starts. May throw to cancel.
using BeforeCall = std::function<void(std::int64_t)>;

/// A loaded UNet with its loop.
class Denoiser {
 public:
  virtual ~Denoiser() = default;
  /// Takes `latents` [1, h, w, channels] through all calls of the sampler; a dry run through the first.
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
