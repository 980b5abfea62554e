// A Stable Diffusion sampler for one run: the model's input for each call, and the update of the latents
// from its prediction. SamplerState applies the updates on the backend that holds the latents.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <sampling/scheduler_config.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/problem/sampler_functions.hpp>

namespace precast::sampling {

/// The settings of one run of a sampler.
struct SamplerRun {
  std::int64_t steps = 50;
  double eta = 0;       ///< ddim: 0 adds no noise, 1 as much as DDPM
  double strength = 1;  ///< image to image, inpainting: the fraction of the steps that is run, (0, 1]
  /// lcm: takes `steps` of the lowest `strength` of the timesteps, as LatentConsistencyModelImg2ImgPipeline
  /// does, not the last `strength` of the steps, as other pipelines do.
  bool strength_narrows_lcm = false;
  /// SDXL's base and refiner: where this run begins and ends, from 0 (pure noise) to 1. A start replaces
  /// `strength`.
  std::optional<double> denoising_start{}, denoising_end{};
};

/// Noised latents: from_clean * clean + from_noise * noise.
struct NoiseMix {
  f32 from_clean = 1, from_noise = 0;
};

/// One linear combination in a step. Operands are numbered: 0 the latents, 1 the prediction, 2 the noise
/// drawn for the step, from 3 on the sampler's own tensors.
struct SamplerOperation {
  int out = 0;
  std::vector<int> in;  ///< one to four operands
  elementwise::Combination how;
};

/// Calls of the model are numbered from 0, the first one that remains after `strength`. pndm has more calls
/// than steps.
class Sampler {
 public:
  static constexpr int latents = 0, prediction = 1, noise = 2, own = 3;

  /// Throws InputError, in one line, for settings of a run that are not supported: steps out of range, eta
  /// outside [0, 1], a strength that leaves no step, timesteps outside the training's, epsilon prediction
  /// at a level without signal.
  Sampler(const SamplerSettings& settings, const SamplerRun& run);

  std::int64_t calls() const { return static_cast<std::int64_t>(calls_.size()); }
  /// The timestep input of the model; fractional for euler and euler_a.
  f32 timestep(std::int64_t call) const { return calls_[at(call)].timestep; }
  /// The divisor of the model's input latents; 1 except for euler and euler_a.
  f32 input_divisor(std::int64_t call) const { return calls_[at(call)].input_divisor; }
  /// The factor of the initial noise for text to image, and for inpainting at strength 1.
  f32 initial_noise_scale() const { return initial_noise_scale_; }
  /// The noise mix at the level of a call: of call 0 for the start of image to image, of call i + 1 for the
  /// area around an inpainting mask after call i. After the last call it has no noise.
  NoiseMix noise_mix(std::int64_t call) const;
  /// Whether the step after a call draws noise, a tensor of the latents' shape. Includes noise that
  /// diffusers draws and multiplies by 0.
  bool draws_noise(std::int64_t call) const { return calls_[at(call)].draws_noise; }

  /// The operations of the step after a call, in order.
  const std::vector<SamplerOperation>& operations(std::int64_t call) const {
    return calls_[at(call)].operations;
  }
  /// The number of tensors that the sampler keeps, each of the latents' shape.
  int own_tensors() const { return own_tensors_; }

  struct Call {
    f32 timestep = 0, input_divisor = 1;
    NoiseMix noise_mix;
    bool draws_noise = false;
    std::vector<SamplerOperation> operations;
  };

 private:
  std::size_t at(std::int64_t call) const;

  std::vector<Call> calls_;
  f32 initial_noise_scale_ = 1;
  int own_tensors_ = 0;
};

}  // namespace precast::sampling
