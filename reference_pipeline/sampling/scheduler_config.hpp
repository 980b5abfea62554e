// The samplers of Stable Diffusion by name, and their settings in diffusers' scheduler_config.json.
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

/// Whether the kind is a DPM-Solver++ sampler, with or without noise.
constexpr bool is_dpmpp(SamplerKind kind) {
  return kind >= SamplerKind::dpmpp_2m && kind <= SamplerKind::dpmpp_2m_sde_karras;
}

/// All kinds, in the order of help texts and messages.
std::span<const SamplerKind> sampler_kinds();
/// As users write it: "euler_a".
std::string_view sampler_name(SamplerKind kind);
/// The kind of that name. Throws InputError, which lists the names.
SamplerKind sampler_named(std::string_view name);

enum class BetaSchedule : std::uint8_t { linear, scaled_linear, squaredcos_cap_v2, trained };
enum class TimestepSpacing : std::uint8_t { leading, linspace, trailing };
enum class PredictionType : std::uint8_t { epsilon, v_prediction, sample };
/// The spacing of noise levels: by timesteps, or by one of two formulas.
enum class SigmaSpacing : std::uint8_t { timesteps, karras, exponential };
enum class FinalSigma : std::uint8_t { zero, sigma_min };
enum class SolverType : std::uint8_t { midpoint, heun };

/// The corrections that diffusers' pipelines make to the scheduler's config.
enum class SchedulerCorrection : std::uint8_t {
  none,         ///< Stable Diffusion XL, latent consistency models
  of_drawing,   ///< 1.x and 2.x, text to image and image to image: steps_offset is 1, clip_sample false
  of_painting,  ///< 1.x and 2.x, inpainting: steps_offset is 1, skip_prk_steps true
};

/// The settings of one kind of sampler: the keys of its class in diffusers. Keys that its class lacks keep
/// the defaults here.
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
  bool clip_sample = false;      ///< ddim, lcm: the clean picture is clipped
  double clip_sample_range = 1;  ///< [-range, range]
  bool skip_prk_steps = false;   ///< pndm: no Runge-Kutta steps before the multistep ones
  SigmaSpacing sigma_spacing = SigmaSpacing::timesteps;  ///< euler, dpmpp
  std::optional<double> sigma_min,
      sigma_max;  ///< the range of levels spaced by a formula; default: the schedule's
  FinalSigma final_sigmas_type = FinalSigma::zero;  ///< euler, dpmpp
  bool continuous_timesteps = false;  ///< euler with v_prediction: the model's time input is log(sigma) / 4
  bool draws_noise = false;           ///< dpmpp: solves the SDE, with new noise in each step
  std::int64_t solver_order = 2;      ///< dpmpp: 1 to 3
  SolverType solver_type = SolverType::midpoint;
  bool lower_order_final = true, euler_at_final = false;
  double lambda_min_clipped = 0;               ///< dpmpp: lower bound of log(alpha / sigma), if finite
  bool clips_lambda = false;                   ///< whether lambda_min_clipped is finite
  std::int64_t original_inference_steps = 50;  ///< lcm
  double timestep_scaling = 10;                ///< lcm
};

/// The error that the file's sampler is not supported; another one can be chosen instead.
class SamplerNotHere : public InputError {
 public:
  using InputError::InputError;
};

/// The keys of a scheduler_config.json, of any class. -Infinity, which Python writes though JSON lacks it,
/// is read as null. Throws InputError if the file is missing, malformed, or not an object.
io::Config load_scheduler_keys(const std::filesystem::path& path);

/// A scheduler_config.json of one of diffusers' schedulers.
class SchedulerConfig {
 public:
  /// Reads a file. Its class is the one in `class_of_index` from the folder's model_index.json if given,
  /// else the one that the file names, as in diffusers. Throws InputError if the file is missing, malformed
  /// or not a scheduler's.
  static SchedulerConfig load(const std::filesystem::path& path, const std::string& class_of_index = {});

  /// The same for keys without a file; `config` has the name for messages.
  static SchedulerConfig from(io::Config config) { return {std::move(config), ClassNamedBy::file}; }

  /// The file's own sampler. Throws InputError if its class is not supported, with the advice to choose
  /// another sampler.
  SamplerKind default_kind() const;
  /// The settings for a sampler of this kind, as diffusers' from_config makes them: the keys of its class
  /// that are in the file, and the class's defaults for the others. Throws InputError, in one line with the
  /// file and the key, for values of a wrong type, out of range or unsupported, and for contradictions. A
  /// correction applies to keys in the file and, for the file's own sampler, also to defaults.
  SamplerSettings settings(SamplerKind kind,
                           SchedulerCorrection correction = SchedulerCorrection::none) const;

 private:
  enum class ClassNamedBy : std::uint8_t { file, index };  ///< index: and the file names another class

  SchedulerConfig(io::Config config, ClassNamedBy by);
  io::FileError wrong_class(const std::string& problem) const;

  io::Config config_;
  std::string class_name_;
  ClassNamedBy class_named_by_;
};

}  // namespace precast::sampling
