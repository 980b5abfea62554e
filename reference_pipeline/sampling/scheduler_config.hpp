// The samplers of Stable Diffusion by name, and what a diffusers scheduler_config.json says of each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/io/config.hpp>

namespace precast::sampling {

enum class SamplerKind : std::uint8_t {
  ddim,
  pndm,
  euler,
  euler_a,
  dpmpp_2m,
  dpmpp_2m_karras,
  dpmpp_2m_sde,
  dpmpp_2m_sde_karras,
  lcm
};

/// Whether it is one of DPM-Solver++'s, with or without noise.
constexpr bool is_dpmpp(SamplerKind kind) {
  return kind >= SamplerKind::dpmpp_2m && kind <= SamplerKind::dpmpp_2m_sde_karras;
}

/// All kinds, in the order in which they are listed to users.
std::span<const SamplerKind> sampler_kinds();
/// As users write it: "euler_a".
std::string_view sampler_name(SamplerKind kind);
/// The kind of that name. Throws InputError, which lists the names.
SamplerKind sampler_named(std::string_view name);

enum class BetaSchedule : std::uint8_t { linear, scaled_linear, squaredcos_cap_v2, trained };
enum class TimestepSpacing : std::uint8_t { leading, linspace, trailing };
enum class PredictionType : std::uint8_t { epsilon, v_prediction, sample };
/// What levels of noise are spaced by: the timesteps, or one of two formulas of their own.
enum class SigmaSpacing : std::uint8_t { timesteps, karras, exponential };
enum class FinalSigma : std::uint8_t { zero, sigma_min };
enum class SolverType : std::uint8_t { midpoint, heun };

/// What diffusers' pipelines set right in the scheduler's config that they are given.
enum class SchedulerCorrection : std::uint8_t {
  none,         ///< Stable Diffusion XL, latent consistency models
  of_drawing,   ///< 1.x and 2.x, text to image and image to image: steps_offset is 1, clip_sample false
  of_painting,  ///< 1.x and 2.x, inpainting: steps_offset is 1, skip_prk_steps true
};

/// What one kind of sampler is told: the keys of its class in diffusers. Those that its class does not have
/// keep the values here.
struct SamplerSettings {
  SamplerKind kind = SamplerKind::ddim;
  std::int64_t num_train_timesteps = 1000;
  double beta_start = 0.0001, beta_end = 0.02;
  BetaSchedule beta_schedule = BetaSchedule::linear;
  std::vector<f32> trained_betas;  ///< of BetaSchedule::trained
  bool rescale_betas_zero_snr = false;
  PredictionType prediction_type = PredictionType::epsilon;
  TimestepSpacing timestep_spacing = TimestepSpacing::leading;
  std::int64_t steps_offset = 0;

  bool set_alpha_to_one = true;  ///< ddim, pndm
  bool clip_sample = false;      ///< ddim, lcm: the clean picture is held in a range
  double clip_sample_range = 1;  ///< [-range, range]
  bool skip_prk_steps = false;   ///< pndm: no Runge-Kutta steps before the multistep ones
  SigmaSpacing sigma_spacing = SigmaSpacing::timesteps;  ///< euler, dpmpp
  std::optional<double> sigma_min,
      sigma_max;  ///< ends of levels that are spaced by themselves; else the schedule's
  FinalSigma final_sigmas_type = FinalSigma::zero;  ///< euler, dpmpp
  bool continuous_timesteps = false;  ///< euler with v_prediction: the model is told log(sigma) / 4
  bool draws_noise = false;           ///< dpmpp: solves the stochastic equation, each step with new noise
  std::int64_t solver_order = 2;      ///< dpmpp: 1 to 3
  SolverType solver_type = SolverType::midpoint;
  bool lower_order_final = true, euler_at_final = false;
  double lambda_min_clipped = 0;  ///< dpmpp: least log(alpha / sigma) of a timestep, where finite
  bool clips_lambda = false;      ///< whether lambda_min_clipped is finite
  std::int64_t original_inference_steps = 50;  ///< lcm
  double timestep_scaling = 10;                ///< lcm
};

/// A model's own sampler is none of these: another can take its place.
class SamplerNotHere : public InputError {
 public:
  using InputError::InputError;
};

/// The keys of a scheduler_config.json, of any class: where Python wrote -Infinity, which no JSON is, they
/// are null. Throws InputError where it is missing, malformed, or not an object.
io::Config load_scheduler_keys(const std::filesystem::path& path);

/// A scheduler_config.json of one of diffusers' schedulers.
class SchedulerConfig {
 public:
  /// Reads a file, for the class that it names itself or, before that, for the one that the folder's
  /// model_index.json names, as diffusers does. Throws InputError where it is missing, malformed or not a
  /// scheduler's.
  static SchedulerConfig load(const std::filesystem::path& path, const std::string& class_of_index = {});

  /// The keys of such a file, where there is none: `config` names what they are of.
  static SchedulerConfig from(io::Config config) { return {std::move(config), ClassNamedBy::file}; }

  /// The folder's own sampler. Throws InputError where its class is not among the samplers here, and says
  /// that another can be chosen.
  SamplerKind default_kind() const;
  /// What a sampler of this kind is told, as diffusers' from_config tells it: keys that are in the file and
  /// that its class has; the rest are the class's defaults. Throws InputError, in one line that names the
  /// file and the key, for a value of the wrong type or out of range, one that is not supported, and keys
  /// that contradict each other. What is corrected are keys of the file and, for its own sampler, defaults.
  SamplerSettings settings(SamplerKind kind,
                           SchedulerCorrection correction = SchedulerCorrection::none) const;

 private:
  enum class ClassNamedBy : std::uint8_t { file, index };  ///< the index: another than the file does

  SchedulerConfig(io::Config config, ClassNamedBy by);
  InputError wrong_class(const std::string& problem) const;

  io::Config config_;
  std::string class_name_;
  ClassNamedBy class_named_by_;
};

}  // namespace precast::sampling
