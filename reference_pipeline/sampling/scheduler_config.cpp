#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <sampling/scheduler_config.hpp>

#include <precast/error.hpp>
#include <precast/io/joined.hpp>
#include <precast/io/json_text.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/unset_keys.hpp>

namespace precast::sampling {
namespace {

struct NamedKind {
  SamplerKind kind;
  std::string_view name, class_name;
};
constexpr std::array named_kinds{
    NamedKind{SamplerKind::ddim, "ddim", "DDIMScheduler"},
    NamedKind{SamplerKind::pndm, "pndm", "PNDMScheduler"},
    NamedKind{SamplerKind::euler, "euler", "EulerDiscreteScheduler"},
    NamedKind{SamplerKind::euler_a, "euler_a", "EulerAncestralDiscreteScheduler"},
    NamedKind{SamplerKind::dpmpp_2m, "dpmpp_2m", "DPMSolverMultistepScheduler"},
    NamedKind{SamplerKind::dpmpp_2m_karras, "dpmpp_2m_karras", "DPMSolverMultistepScheduler"},
    NamedKind{SamplerKind::dpmpp_2m_sde, "dpmpp_2m_sde", "DPMSolverMultistepScheduler"},
    NamedKind{SamplerKind::dpmpp_2m_sde_karras, "dpmpp_2m_sde_karras", "DPMSolverMultistepScheduler"},
    NamedKind{SamplerKind::lcm, "lcm", "LCMScheduler"},
};
constexpr auto kinds_alone = [] {
  std::array<SamplerKind, named_kinds.size()> kinds{};
  for (std::size_t i = 0; i < kinds.size(); ++i) kinds[i] = named_kinds[i].kind;
  return kinds;
}();

const NamedKind& named(SamplerKind kind) { return *std::ranges::find(named_kinds, kind, &NamedKind::kind); }

std::string listed_names() { return io::joined(named_kinds, ", ", &NamedKind::name); }

void refuse(const io::Config& config, const char* key) {
  if (config.boolean_or(key, false))
    throw config.error(key, "is true, which is not supported: set it to false");
}

std::vector<f32> read_trained_betas(const io::Config& config, std::int64_t count) {
  constexpr char key[] = "trained_betas";
  std::vector<f32> betas;
  for (const double beta : config.numbers(key, 0, 1)) {
    if (beta == 0 || beta == 1) throw config.error(key, "holds 0 or 1, and betas lie between: correct it");
    betas.push_back(static_cast<f32>(beta));
  }
  if (std::ssize(betas) != count)
    throw config.error(key, "must be a list of num_train_timesteps, " + std::to_string(count) +
                                ", numbers: correct it, or leave it out for beta_schedule");
  return betas;
}

/// Reads the schedule of betas, common to all classes.
void read_betas(const io::Config& config, SamplerSettings& settings) {
  config.refuse_null({"num_train_timesteps"});
  if (!config.has("trained_betas")) config.refuse_null({"beta_start", "beta_end", "beta_schedule"});
  settings.num_train_timesteps = config.integer_or("num_train_timesteps", 1000, 2, 100'000);
  settings.beta_start = config.number_or("beta_start", settings.beta_start, 1e-9, 0.999);
  settings.beta_end = config.number_or("beta_end", settings.beta_end, 1e-9, 0.999);
  if (settings.beta_start > settings.beta_end)
    throw config.error("beta_start", "is larger than beta_end: noise grows from beta_start to beta_end");
  settings.beta_schedule = config.one_of_or("beta_schedule", settings.beta_schedule,
                                            {{"linear", BetaSchedule::linear},
                                             {"scaled_linear", BetaSchedule::scaled_linear},
                                             {"squaredcos_cap_v2", BetaSchedule::squaredcos_cap_v2}});
  if (config.has("trained_betas")) {
    settings.trained_betas = read_trained_betas(config, settings.num_train_timesteps);
    settings.beta_schedule = BetaSchedule::trained;
  }
}

void read_timesteps(const io::Config& config, SamplerSettings& settings) {
  config.refuse_null({"timestep_spacing"});
  settings.timestep_spacing = config.one_of_or("timestep_spacing", settings.timestep_spacing,
                                               {{"leading", TimestepSpacing::leading},
                                                {"linspace", TimestepSpacing::linspace},
                                                {"trailing", TimestepSpacing::trailing}});
  settings.steps_offset = config.integer_or("steps_offset", 0, 0, settings.num_train_timesteps - 1);
}

void read_prediction(const io::Config& config, SamplerSettings& settings) {
  constexpr char key[] = "prediction_type";
  config.refuse_null({key});
  settings.prediction_type = config.one_of_or(key, PredictionType::epsilon,
                                              {{"epsilon", PredictionType::epsilon},
                                               {"v_prediction", PredictionType::v_prediction},
                                               {"sample", PredictionType::sample}});
  const bool no_sample = settings.kind == SamplerKind::pndm || settings.kind == SamplerKind::euler_a;
  if (settings.prediction_type == PredictionType::sample && no_sample)
    throw config.error(key, "is 'sample', which the sampler " + std::string(sampler_name(settings.kind)) +
                                " does not support: choose another sampler, such as ddim");
}

void read_clipping(const io::Config& config, SamplerSettings& settings) {
  refuse(config, "thresholding");
  settings.clip_sample = config.boolean_or("clip_sample", settings.clip_sample);
  if (settings.clip_sample) config.refuse_null({"clip_sample_range"});
  settings.clip_sample_range = config.number_or("clip_sample_range", 1, 1e-6, 1e6);
}

bool has_karras_sigmas(SamplerKind kind) {
  return kind == SamplerKind::dpmpp_2m_karras || kind == SamplerKind::dpmpp_2m_sde_karras;
}

bool draws_noise(SamplerKind kind) {
  return kind == SamplerKind::dpmpp_2m_sde || kind == SamplerKind::dpmpp_2m_sde_karras;
}

/// Whether the file itself configures dpmpp to draw noise in each step.
bool says_noise(const io::Config& config) {
  constexpr char key[] = "algorithm_type";
  config.refuse_null({key});
  // diffusers converts the algorithm types of related solvers' classes to dpmsolver++.
  return config.one_of_or(key, false, {{"dpmsolver++", false}, {"deis", false}, {"sde-dpmsolver++", true}});
}

void read_levels(const io::Config& config, SamplerSettings& settings) {
  config.refuse_null({"final_sigmas_type", "use_karras_sigmas", "use_exponential_sigmas", "use_beta_sigmas"});
  refuse(config, "use_beta_sigmas");
  // For dpmpp, the sampler's name decides whether levels are Karras'.
  const bool says_karras = config.boolean_or("use_karras_sigmas", false);
  const bool karras = is_dpmpp(settings.kind) ? has_karras_sigmas(settings.kind) : says_karras;
  if (karras) settings.sigma_spacing = SigmaSpacing::karras;
  if (config.boolean_or("use_exponential_sigmas", false)) {
    if (karras)
      throw config.error(
          "use_exponential_sigmas",
          "is true, and the noise levels are Karras' already, by use_karras_sigmas or by the sampler's "
          "name: set it to false, or choose another sampler");
    settings.sigma_spacing = SigmaSpacing::exponential;
  }
  settings.sigma_min = config.optional_number("sigma_min", 1e-9, 1e6);
  settings.sigma_max = config.optional_number("sigma_max", 1e-9, 1e6);
  if (settings.sigma_min && settings.sigma_max && *settings.sigma_min >= *settings.sigma_max)
    throw config.error("sigma_min", "is not smaller than sigma_max: noise falls from sigma_max to sigma_min");
  settings.final_sigmas_type =
      config.one_of_or("final_sigmas_type", FinalSigma::zero,
                       {{"zero", FinalSigma::zero}, {"sigma_min", FinalSigma::sigma_min}});
}

void read_euler(const io::Config& config, SamplerSettings& settings) {
  config.refuse_null({"interpolation_type"});
  config.one_of_or("interpolation_type", true, {{"linear", true}});
  const bool continuous =
      config.one_of_or("timestep_type", false, {{"discrete", false}, {"continuous", true}});
  settings.continuous_timesteps = continuous && settings.prediction_type == PredictionType::v_prediction;
}

void read_dpmpp(const io::Config& config, SamplerSettings& settings) {
  config.refuse_null({"solver_type", "solver_order"});
  says_noise(config);  // only refuses unknown values; the sampler's name decides
  settings.draws_noise = draws_noise(settings.kind);
  // diffusers converts the solver types of related classes to these.
  settings.solver_type = config.one_of_or("solver_type", SolverType::midpoint,
                                          {{"midpoint", SolverType::midpoint},
                                           {"heun", SolverType::heun},
                                           {"logrho", SolverType::midpoint},
                                           {"bh1", SolverType::midpoint},
                                           {"bh2", SolverType::midpoint}});
  settings.solver_order = config.integer_or("solver_order", 2, 1, 3);
  settings.lower_order_final = config.boolean_or("lower_order_final", true);
  settings.euler_at_final = config.boolean_or("euler_at_final", false);
  refuse(config, "use_lu_lambdas");
  refuse(config, "use_flow_sigmas");
  refuse(config, "use_dynamic_shifting");
  // The kind of variance has no effect on any sampler here; whether the model predicts it has.
  const bool learned = config.one_of_or("variance_type", false,
                                        {{"fixed_small", false},
                                         {"fixed_small_log", false},
                                         {"fixed_large", false},
                                         {"fixed_large_log", false},
                                         {"learned", true},
                                         {"learned_range", true}});
  if (learned)
    throw config.error("variance_type",
                       "is learned, and models that predict a variance are not supported: use another model");
  if (config.has("lambda_min_clipped")) {
    settings.lambda_min_clipped = config.number("lambda_min_clipped", -1e30, 100);
    settings.clips_lambda = true;
  }
}

/// Schedulers of models whose inputs are the noise level itself, and latents scaled by it.
bool scales_by_noise(std::string_view class_name) {
  constexpr std::array<std::string_view, 4> others{"CMStochasticIterativeScheduler",
                                                   "CosineDPMSolverMultistepScheduler", "KarrasVeScheduler",
                                                   "ScoreSdeVeScheduler"};
  return class_name.starts_with("EDM") || std::ranges::find(others, class_name) != others.end();
}

}  // namespace

std::span<const SamplerKind> sampler_kinds() { return kinds_alone; }

std::string_view sampler_name(SamplerKind kind) { return named(kind).name; }

SamplerKind sampler_named(std::string_view name) {
  const auto* found = std::ranges::find(named_kinds, name, &NamedKind::name);
  if (found == named_kinds.end())
    throw InputError("there is no sampler '" + io::printable(std::string(name)) + "': choose one of " +
                     listed_names());
  return found->kind;
}

SchedulerConfig::SchedulerConfig(io::Config config, ClassNamedBy by)
    : config_(std::move(config)), class_name_(config_.string("_class_name")), class_named_by_(by) {
  if (!class_name_.ends_with("Scheduler"))
    throw wrong_class("not a scheduler of diffusers: get the file again");
  if (scales_by_noise(class_name_))
    throw wrong_class(
        "of a model whose inputs and results are scaled by its level of noise, which no sampler "
        "here does: use another model");
  if (class_name_.starts_with("FlowMatch"))
    throw wrong_class("and Stable Diffusion is not flow matching: get the model's own scheduler_config.json");
}

io::FileError SchedulerConfig::wrong_class(const std::string& problem) const {
  return config_.error("_class_name",
                       "is '" + io::printable(class_name_) +
                           (class_named_by_ == ClassNamedBy::index ? "' by model_index.json, " : "', ") +
                           problem);
}

io::Config load_scheduler_keys(const std::filesystem::path& path) {
  const io::MappedFile file(path);
  const std::string_view text = io::json_text(file, "a scheduler's settings");
  // Python writes lambda_min_clipped's default as -Infinity.
  return io::without_unset_keys({path, io::parse_json(io::with_nulls(text, {"-Infinity"}), path)});
}

SchedulerConfig SchedulerConfig::load(const std::filesystem::path& path, const std::string& class_of_index) {
  io::Config own = load_scheduler_keys(path);
  if (class_of_index.empty()) return {std::move(own), ClassNamedBy::file};
  own.refuse_null({"_class_name"});
  if (own.string_or("_class_name", "") == class_of_index) return {std::move(own), ClassNamedBy::file};
  nlohmann::json json = own.json();
  json["_class_name"] = class_of_index;
  return {io::Config(path, std::move(json)), ClassNamedBy::index};
}

SamplerKind SchedulerConfig::default_kind() const {
  const auto* found = std::ranges::find(named_kinds, class_name_, &NamedKind::class_name);
  if (found == named_kinds.end())
    throw SamplerNotHere(
        wrong_class("a sampler that is not supported: choose one of " + listed_names()).what());
  if (!is_dpmpp(found->kind)) return found->kind;
  const bool karras = config_.boolean_or("use_karras_sigmas", false);
  if (says_noise(config_)) return karras ? SamplerKind::dpmpp_2m_sde_karras : SamplerKind::dpmpp_2m_sde;
  return karras ? SamplerKind::dpmpp_2m_karras : SamplerKind::dpmpp_2m;
}

SamplerSettings SchedulerConfig::settings(SamplerKind kind, SchedulerCorrection correction) const {
  SamplerSettings settings;
  settings.kind = kind;
  if (kind == SamplerKind::lcm) {
    settings.beta_start = 0.00085;
    settings.beta_end = 0.012;
    settings.beta_schedule = BetaSchedule::scaled_linear;
  }
  const bool has_levels = kind == SamplerKind::euler || is_dpmpp(kind);
  if (has_levels || kind == SamplerKind::euler_a) settings.timestep_spacing = TimestepSpacing::linspace;

  read_betas(config_, settings);
  read_prediction(config_, settings);
  read_timesteps(config_, settings);
  if (correction == SchedulerCorrection::none && settings.timestep_spacing == TimestepSpacing::leading)
    config_.refuse_null({"steps_offset"});
  if (kind != SamplerKind::pndm)
    settings.rescale_betas_zero_snr = config_.boolean_or("rescale_betas_zero_snr", false);
  if (kind == SamplerKind::ddim || kind == SamplerKind::pndm)
    settings.set_alpha_to_one = config_.boolean_or("set_alpha_to_one", kind == SamplerKind::ddim);
  if (kind == SamplerKind::ddim || kind == SamplerKind::lcm) {
    settings.clip_sample = kind == SamplerKind::ddim;
    read_clipping(config_, settings);
  }
  if (kind == SamplerKind::pndm) {
    config_.refuse_null({"skip_prk_steps"});  // diffusers does not correct null, and it is not true
    settings.skip_prk_steps = config_.boolean_or("skip_prk_steps", false);
  }
  if (has_levels) read_levels(config_, settings);
  if (kind == SamplerKind::euler) read_euler(config_, settings);
  if (is_dpmpp(kind)) {
    refuse(config_, "thresholding");
    read_dpmpp(config_, settings);
    // diffusers overwrites the solver type of these classes with their own.
    if (class_name_ == "UniPCMultistepScheduler" || class_name_ == "DEISMultistepScheduler")
      settings.solver_type = SolverType::midpoint;
  }
  if (kind == SamplerKind::lcm) {
    config_.refuse_null({"original_inference_steps", "timestep_scaling"});
    settings.original_inference_steps =
        config_.integer_or("original_inference_steps", 50, 1, settings.num_train_timesteps);
    if (settings.original_inference_steps > settings.num_train_timesteps)
      throw config_.error("num_train_timesteps", "is " + std::to_string(settings.num_train_timesteps) +
                                                     ", fewer than lcm's original_inference_steps, " +
                                                     std::to_string(settings.original_inference_steps) +
                                                     ": set that no larger");
    settings.timestep_scaling = config_.number_or("timestep_scaling", 10, 1e-3, 1e6);
  }
  // Corrections of defaults apply only to the file's own sampler; keys in the file are always corrected.
  const bool is_own = named(kind).class_name == class_name_ && kind == default_kind();
  const auto is_correctable = [&](const char* key) { return is_own || config_.json().contains(key); };
  if (correction != SchedulerCorrection::none && is_correctable("steps_offset")) settings.steps_offset = 1;
  if (correction == SchedulerCorrection::of_drawing && is_correctable("clip_sample"))
    settings.clip_sample = false;
  if (correction == SchedulerCorrection::of_painting && is_correctable("skip_prk_steps"))
    settings.skip_prk_steps = true;
  return settings;
}

}  // namespace precast::sampling
