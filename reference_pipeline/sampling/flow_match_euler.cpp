#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include <sampling/flow_match_euler.hpp>

#include <precast/error.hpp>
#include <precast/io/config.hpp>
#include <precast/io/number_text.hpp>
#include <precast/io/unset_keys.hpp>

namespace precast::sampling {
namespace {

/// linspace(1, 1 / steps, steps) in double with NumPy's rounding, then rounded to f32.
std::vector<f32> even_levels(int steps) {
  std::vector<f32> levels(static_cast<std::size_t>(steps));
  const double last = 1.0 / steps;
  const double gap = steps > 1 ? (last - 1.0) / (steps - 1) : 0.0;
  for (int i = 0; i < steps; ++i) {
    const double fallen = i * gap;
    levels[static_cast<std::size_t>(i)] = static_cast<f32>(fallen + 1.0);
  }
  if (steps > 1) levels.back() = static_cast<f32>(last);
  return levels;
}

void check_same_shape(const Shape& a, const Shape& b, const char* what) {
  if (!(a == b))
    throw ShapeError(std::string(what) + ": shapes " + to_string(a) + " and " + to_string(b) + " differ");
}

constexpr char scheduler_name[] = "FlowMatchEulerDiscreteScheduler";

/// Refuses diffusers' options that Flux does not use: ignoring them would give another picture.
void reject_unsupported(const io::Config& config) {
  for (const char* key : {"invert_sigmas", "stochastic_sampling", "use_karras_sigmas",
                          "use_exponential_sigmas", "use_beta_sigmas", "use_flow_sigmas"})
    if (config.boolean_or(key, false)) throw config.error(key, "is not supported: set it to false");
  if (config.number_or("shift_terminal", 0, -1e6, 1e6) != 0)
    throw config.error("shift_terminal", "is not supported: set it to null");
}

}  // namespace

FlowMatchSettings FlowMatchSettings::load(const std::filesystem::path& path) {
  const io::Config config = io::without_unset_keys(io::Config::load(path));
  config.require_class(scheduler_name, "use a Flux model's scheduler");
  config.refuse_null({"_class_name", "num_train_timesteps", "base_shift", "max_shift", "base_image_seq_len",
                      "max_image_seq_len", "time_shift_type", "use_karras_sigmas", "use_exponential_sigmas",
                      "use_beta_sigmas"});
  reject_unsupported(config);
  constexpr std::int64_t most_tokens = 1 << 24;
  FlowMatchSettings settings;
  settings.num_train_timesteps =
      config.integer_or("num_train_timesteps", settings.num_train_timesteps, 1, 1'000'000);
  settings.shift = config.number_or("shift", settings.shift, 1e-3, 1e3);
  settings.use_dynamic_shifting = config.boolean_or("use_dynamic_shifting", settings.use_dynamic_shifting);
  if (!settings.use_dynamic_shifting) config.refuse_null({"shift"});
  settings.base_shift = config.number_or("base_shift", settings.base_shift, -10, 10);
  settings.max_shift = config.number_or("max_shift", settings.max_shift, -10, 10);
  settings.base_image_seq_len =
      config.integer_or("base_image_seq_len", settings.base_image_seq_len, 1, most_tokens);
  settings.max_image_seq_len =
      config.integer_or("max_image_seq_len", settings.max_image_seq_len, 1, most_tokens);
  if (settings.base_image_seq_len == settings.max_image_seq_len)
    throw config.error("max_image_seq_len",
                       "equals base_image_seq_len, so that no line runs through both: correct it");
  settings.time_shift_type =
      config.one_of_or("time_shift_type", TimeShift::exponential,
                       {{"exponential", TimeShift::exponential}, {"linear", TimeShift::linear}});
  return settings;
}

double shift_mu(const FlowMatchSettings& settings, std::int64_t image_tokens) {
  const double slope = (settings.max_shift - settings.base_shift) /
                       static_cast<double>(settings.max_image_seq_len - settings.base_image_seq_len);
  const double below_base = slope * static_cast<double>(settings.base_image_seq_len);
  const double at_zero = settings.base_shift - below_base;
  const double above_zero = static_cast<double>(image_tokens) * slope;
  return above_zero + at_zero;
}

std::vector<f32> sigmas(const FlowMatchSettings& settings, int steps, std::int64_t image_tokens) {
  if (steps < 1) throw InputError("the number of steps is " + std::to_string(steps) + ": give at least 1");
  if (image_tokens < 1)
    throw InputError("a picture of " + std::to_string(image_tokens) + " tokens has no noise levels");
  std::vector<f32> levels = even_levels(steps);
  if (settings.use_dynamic_shifting) {
    const double mu = shift_mu(settings, image_tokens);
    const bool exponential = settings.time_shift_type == TimeShift::exponential;
    const auto weight = static_cast<f32>(exponential ? std::exp(mu) : mu);
    for (f32& level : levels) level = weight / (weight + (1.0f / level - 1.0f));
  } else {
    const auto shift = static_cast<f32>(settings.shift);
    const auto excess = static_cast<f32>(settings.shift - 1.0);
    for (f32& level : levels) {
      const f32 shifted = shift * level;
      const f32 grown = excess * level;
      level = shifted / (1.0f + grown);
    }
  }
  levels.push_back(0);
  if (std::ranges::adjacent_find(levels, std::not_fn(std::greater<f32>())) != levels.end())
    throw InputError("the scheduler's settings give noise levels that do not fall over " +
                     std::to_string(steps) + " steps of " + std::to_string(image_tokens) +
                     " tokens: take fewer steps, or check the shifts");
  return levels;
}

f32 timestep(const FlowMatchSettings& settings, f32 sigma) {
  return sigma * static_cast<f32>(settings.num_train_timesteps);
}

int img2img_start(int steps, double strength) {
  if (!(strength >= 0 && strength <= 1))
    throw InputError("strength " + io::shortest(strength) + " is not between 0 (keep the picture) and 1");
  const double kept = std::min(steps * strength, static_cast<double>(steps));
  return static_cast<int>(std::max(steps - kept, 0.0));
}

// The sampler's state is f32; products are rounded before they are added (no FMA), as in PyTorch.

Tensor<f32> scale_noise(HostView<const f32> sample, HostView<const f32> noise, f32 sigma) {
  check_same_shape(sample.shape(), noise.shape(), "scale_noise");
  Tensor<f32> result(sample.shape());
  if (DryRun::active()) return result;
  const f32 rest = 1.0f - sigma;
  for (std::int64_t i = 0; i < result.rows(); ++i) {
    const auto clean = sample.row(i), noisy = noise.row(i);
    const auto mixed = result.view().row(i);
    for (std::size_t j = 0; j < mixed.size(); ++j) {
      const f32 from_noise = sigma * noisy[j];
      const f32 from_sample = rest * clean[j];
      mixed[j] = from_noise + from_sample;
    }
  }
  return result;
}

}  // namespace precast::sampling
