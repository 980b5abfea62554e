// A sampler of Stable Diffusion made for one run: what each call of the model is told, and how its prediction
// carries the latents on. What it does to latents is run by SamplerState, where these live.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <sampling/scheduler_config.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/problem/sampler_functions.hpp>

namespace precast::sampling {

/// How one run goes through the levels of noise.
struct SamplerRun {
  std::int64_t steps = 50;
  double eta = 0;       ///< ddim: 0 draws no noise, 1 as much as its training had
  double strength = 1;  ///< image to image, inpainting: the part of the steps that is run, (0, 1]
  /// lcm: `steps` timesteps among the lowest `strength` of all, as LatentConsistencyModelImg2ImgPipeline
  /// takes them, instead of the last `strength` of the steps, as the others do.
  bool strength_narrows_lcm = false;
  /// SDXL's base and refiner: where in the noise, from 0 (pure noise) to 1, this run begins and ends. A begin
  /// takes the place of `strength`.
  std::optional<double> denoising_start{}, denoising_end{};
};

/// Noised latents: from_clean clean + from_noise noise.
struct NoiseMix {
  f32 from_clean = 1, from_noise = 0;
};

/// One linear combination of a step, of tensors by number: 0 the latents, 1 the prediction, 2 the noise drawn
/// for the step, from 3 on the sampler's own.
struct SamplerOperation {
  int out = 0;
  std::vector<int> in;  ///< one to four
  elementwise::Combination how;
};

/// The calls of a run are numbered from 0: after a cut by strength, 0 is the first that is left. pndm calls
/// the model more often than there are steps.
class Sampler {
 public:
  static constexpr int latents = 0, prediction = 1, noise = 2, own = 3;

  /// Throws InputError, in one line, for a run that these settings do not have: steps out of range, eta
  /// outside [0, 1], a strength that leaves no step, timesteps that leave the training's, epsilon at a level
  /// that is all noise.
  Sampler(const SamplerSettings& settings, const SamplerRun& run);

  std::int64_t calls() const { return static_cast<std::int64_t>(calls_.size()); }
  /// What the model is told. euler and euler_a give fractions.
  f32 timestep(std::int64_t call) const { return calls_[at(call)].timestep; }
  /// The model takes latents divided by this; 1 but for euler and euler_a.
  f32 input_divisor(std::int64_t call) const { return calls_[at(call)].input_divisor; }
  /// What text to image, and inpainting at strength 1, multiply their noise by.
  f32 initial_noise_scale() const { return initial_noise_scale_; }
  /// Latents at the level at which a call begins: call 0 is where image to image starts, call i + 1 what
  /// inpainting puts around the mask after call i. After the last call it adds none.
  NoiseMix noise_mix(std::int64_t call) const;
  /// Whether the step after a call adds noise, a tensor as large as the latents. Draws that diffusers makes
  /// and multiplies by 0 count.
  bool draws_noise(std::int64_t call) const { return calls_[at(call)].draws_noise; }

  /// The step after a call, in order.
  const std::vector<SamplerOperation>& operations(std::int64_t call) const {
    return calls_[at(call)].operations;
  }
  /// How many tensors of its own the sampler keeps, each as large as the latents.
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
