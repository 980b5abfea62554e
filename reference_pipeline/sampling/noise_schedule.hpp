// How much of a picture and how much noise a timestep of training holds, and which timesteps a run visits. In
// the precisions in which diffusers computes them: levels in f32, places among them in double.
#pragma once

#include <cstdint>
#include <vector>

#include <sampling/scheduler_config.hpp>

#include <precast/dtype/scalar.hpp>

namespace precast::sampling {

/// The squares of the parts of the clean picture (alphas_cumprod), from timestep 0 on, falling. With
/// rescale_betas_zero_snr the last is 0, or 2^-24 for the samplers that count in sigmas. Throws InputError
/// where the betas leave nothing of a picture at the last timestep, or all of it at two.
std::vector<f32> kept_parts(const SamplerSettings& settings);

/// sqrt((1 - kept) / kept) of each.
std::vector<f32> noise_levels(const std::vector<f32>& kept);

/// The timesteps of `steps` steps, from the noisiest down, as settings.timestep_spacing lays them. Whole
/// numbers, but linspace's of euler and euler_a. `last` is how many timesteps there are (fewer than
/// num_train_timesteps where the noisiest are left out).
std::vector<double> spaced_timesteps(const SamplerSettings& settings, std::int64_t steps, std::int64_t last);

/// lcm's: `steps` of the original_inference_steps that it was distilled with, of which those above `strength`
/// are left out. Throws InputError where there are fewer than `steps`.
std::vector<double> lcm_timesteps(const SamplerSettings& settings, std::int64_t steps, double strength);

/// `levels`, which begin at timestep 0, at fractions of timesteps; beyond the ends the end's.
std::vector<double> levels_at(const std::vector<f32>& levels, const std::vector<double>& timesteps);

/// `steps` noise levels from settings.sigma_max, or else `most`, down to settings.sigma_min, or else `least`,
/// as settings.sigma_spacing says, which is not timesteps.
std::vector<double> levels_by_formula(const SamplerSettings& settings, double most, double least,
                                      std::int64_t steps);

/// Where noise levels lie among all `levels`, by their logarithms: fractions of timesteps.
std::vector<double> timesteps_of_levels(const std::vector<f32>& levels, const std::vector<double>& wanted);

}  // namespace precast::sampling
