// The calls of each kind of sampler, for Sampler's constructor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sampling/sampler.hpp>

namespace precast::sampling {

/// The data of a Sampler.
struct SamplerPlan {
  std::vector<Sampler::Call> calls;
  f32 initial_noise_scale = 1;
  int own_tensors = 0;
};

SamplerPlan plan_ddim(const SamplerSettings& settings, const SamplerRun& run);
SamplerPlan plan_lcm(const SamplerSettings& settings, const SamplerRun& run);
SamplerPlan plan_pndm(const SamplerSettings& settings, const SamplerRun& run);
SamplerPlan plan_euler(const SamplerSettings& settings, const SamplerRun& run);
SamplerPlan plan_dpmpp(const SamplerSettings& settings, const SamplerRun& run);

/// The calls [first, end) of `timesteps` that a run makes.
struct CallRange {
  std::size_t first, end;
};
/// Throws InputError if none is left.
CallRange calls_of_run(const SamplerSettings& settings, const SamplerRun& run,
                       const std::vector<double>& timesteps);

/// alphas_cumprod by timestep.
class AlphasCumprod {
 public:
  explicit AlphasCumprod(const SamplerSettings& settings);
  /// At a timestep of the run. Throws InputError if it is outside the training's.
  f32 at(double timestep) const;
  /// At the timestep that a step leads to; below 0, the value of set_alpha_to_one.
  f32 before(double timestep) const { return timestep >= 0 ? at(timestep) : final_; }
  NoiseMix noise_mix(double timestep) const;

 private:
  std::vector<f32> alphas_;
  f32 final_;
};

/// c0 * first + c1 * second.
inline SamplerOperation weighted(int out, int first, f32 c0, int second, f32 c1) {
  return {out, {first, second}, {.coefficients = {c0, c1, 1, 1}}};
}
inline SamplerOperation copied(int out, int from) { return {out, {from}, {}}; }

/// Computes the clean picture of a prediction into `out`: (latents - noise_part * prediction) /
/// picture_part for epsilon, and likewise for other types; clipped if the settings say so.
SamplerOperation clean_picture(const SamplerSettings& settings, int out, f32 picture_part, f32 noise_part);

/// Whether a step may end at its own noise level, when timesteps go beyond the training's. Such a step of
/// Euler's changes nothing; dpmpp divides by its length.
enum class StepsOfNoLength : bool { refused, allowed };

/// Checks the sigmas of a run, including the final one. Throws InputError if they do not decrease; the
/// final one may be equal.
void check_sigmas_fall(const std::vector<f32>& sigmas, StepsOfNoLength no_length);

}  // namespace precast::sampling
