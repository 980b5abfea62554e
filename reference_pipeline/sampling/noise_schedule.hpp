// The noise schedule of training (alphas_cumprod), and the timesteps of a run. In the precisions of
// diffusers: levels in f32, interpolation between them in double.
#pragma once

#include <cstdint>
#include <vector>

#include <sampling/scheduler_config.hpp>

#include <precast/dtype/scalar.hpp>

namespace precast::sampling {

/// The squared weights of the clean picture (alphas_cumprod), decreasing from timestep 0 on. With
/// rescale_betas_zero_snr the last is 0, or 2^-24 for samplers over sigmas. Throws InputError if the betas
/// leave no noise at the first timestep, no more at the last, or (unless rescaled) no signal at the last.
std::vector<f32> kept_parts(const SamplerSettings& settings);

/// The noise levels (sigmas) sqrt((1 - kept) / kept).
std::vector<f32> noise_levels(const std::vector<f32>& kept);

/// The timesteps of `steps` steps, descending, spaced by settings.timestep_spacing. Integers, except for
/// linspace with euler and euler_a. `last` is the number of timesteps to choose from, fewer than
/// num_train_timesteps if the noisiest are left out.
std::vector<double> spaced_timesteps(const SamplerSettings& settings, std::int64_t steps, std::int64_t last);

/// The timesteps of lcm: `steps` of the original_inference_steps of its distillation, without those above
/// `strength`. Throws InputError if fewer than `steps` remain.
std::vector<double> lcm_timesteps(const SamplerSettings& settings, std::int64_t steps, double strength);

/// `levels`, indexed by timestep from 0, interpolated at fractional timesteps; clamped beyond the ends.
std::vector<double> levels_at(const std::vector<f32>& levels, const std::vector<double>& timesteps);

/// `steps` noise levels by the formula of settings.sigma_spacing (not `timesteps`), from
/// settings.sigma_max, or else `most`, down to settings.sigma_min, or else `least`.
std::vector<double> levels_by_formula(const SamplerSettings& settings, double most, double least,
                                      std::int64_t steps);

/// The fractional timesteps of noise levels, interpolated among all `levels` by their logarithms.
std::vector<double> timesteps_of_levels(const std::vector<f32>& levels, const std::vector<double>& wanted);

}  // namespace precast::sampling
