// The calls of each kind of sampler, as Sampler's constructor makes them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sampling/sampler.hpp>

namespace precast::sampling {

/// All that a Sampler knows.
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

/// The calls [first, end) of all `timesteps` that a run makes.
struct CallRange {
  std::size_t first, end;
};
/// Throws InputError where none is left.
CallRange calls_of_run(const SamplerSettings& settings, const SamplerRun& run,
                       const std::vector<double>& timesteps);

/// kept_parts by timestep.
class KeptParts {
 public:
  explicit KeptParts(const SamplerSettings& settings);
  /// At a timestep of the run. Throws InputError where training had none such.
  f32 at(double timestep) const;
  /// At a timestep that a step goes to; below 0 it is what set_alpha_to_one says.
  f32 before(double timestep) const { return timestep >= 0 ? at(timestep) : final_; }
  NoiseMix noise_mix(double timestep) const;

 private:
  std::vector<f32> parts_;
  f32 final_;
};

/// c0 of one tensor and c1 of another.
inline SamplerOperation weighted(int out, int first, f32 c0, int second, f32 c1) {
  return {out, {first, second}, {.coefficients = {c0, c1, 1, 1}}};
}
inline SamplerOperation copied(int out, int from) { return {out, {from}, {}}; }

/// The clean picture that a prediction means at a level: (latents - part of noise x prediction) / part of
/// picture and its like; into `out`, held in the settings' range.
SamplerOperation clean_picture(const SamplerSettings& settings, int out, f32 picture_part, f32 noise_part);

/// Whether a step may lead to its own level of noise, where timesteps go beyond those of the training: such a
/// step of Euler's changes nothing, and dpmpp's divide by its length.
enum class StepsOfNoLength : bool { refused, allowed };

/// The sigmas of a run, one after another, and where the last step leads. Throws InputError where they do not
/// fall; the last may stay.
void check_sigmas_fall(const std::vector<f32>& sigmas, StepsOfNoLength no_length);

}  // namespace precast::sampling
