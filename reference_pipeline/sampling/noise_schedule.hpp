// The noise schedule of training (alphas_cumprod), and the timesteps of a run. In the precisions of
// diffusers: sigmas in f32, interpolation between them in double.
#pragma once

#include <cstdint>
#include <vector>

#include <sampling/scheduler_config.hpp>

#include <precast/dtype/scalar.hpp>

namespace precast::sampling {

/// The squared weights of the clean picture (alphas_cumprod), decreasing from timestep 0 on. With
/// rescale_betas_zero_snr the last is 0, or 2^-24 for samplers over sigmas. Throws InputError if the betas
/// leave no noise at the first timestep, no more at the last, or (unless rescaled) no signal at the last.
std::vector<f32> alphas_cumprod(const SamplerSettings& settings);

/// The noise levels (sigmas) sqrt((1 - alpha) / alpha) of all timesteps.
std::vector<f32> sigmas_of(const std::vector<f32>& alphas);

/// The timesteps of `steps` steps, descending, spaced by settings.timestep_spacing. Integers, except for
/// linspace with euler and euler_a. `last` is the number of timesteps to choose from, fewer than
/// num_train_timesteps if the noisiest are left out.
std::vector<double> spaced_timesteps(const SamplerSettings& settings, std::int64_t steps, std::int64_t last);

/// The timesteps of lcm: `steps` of the original_inference_steps of its distillation, without those above
/// `strength`. Throws InputError if fewer than `steps` remain.
std::vector<double> lcm_timesteps(const SamplerSettings& settings, std::int64_t steps, double strength);

/// `sigmas`, indexed by timestep from 0, interpolated at fractional timesteps; clamped beyond the ends.
std::vector<double> sigmas_at(const std::vector<f32>& sigmas, const std::vector<double>& timesteps);

/// `steps` sigmas by the formula of settings.sigma_spacing (not `timesteps`), from
/// settings.sigma_max, or else `most`, down to settings.sigma_min, or else `least`.
std::vector<double> sigmas_by_formula(const SamplerSettings& settings, double most, double least,
                                      std::int64_t steps);

/// The fractional timesteps of the `wanted` sigmas, interpolated among all `sigmas` by their logarithms.
std::vector<double> timesteps_of_sigmas(const std::vector<f32>& sigmas, const std::vector<double>& wanted);

}  // namespace precast::sampling
