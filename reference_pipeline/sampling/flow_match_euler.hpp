// Flow matching: the noise levels of Flux's steps. The op euler_step advances from one level to the next.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <precast/tensor/tensor.hpp>

namespace precast::sampling {

enum class TimeShift : std::uint8_t { exponential, linear };

/// The settings of a scheduler_config.json, with the defaults of FlowMatchEulerDiscreteScheduler.
struct FlowMatchSettings {
  std::int64_t num_train_timesteps = 1000;
  double shift = 1.0;                 ///< without use_dynamic_shifting
  bool use_dynamic_shifting = false;  ///< the shift depends on the number of image tokens
  double base_shift = 0.5;            ///< mu at base_image_seq_len tokens
  double max_shift = 1.15;            ///< mu at max_image_seq_len tokens
  std::int64_t base_image_seq_len = 256;
  std::int64_t max_image_seq_len = 4096;
  TimeShift time_shift_type = TimeShift::exponential;

  /// Reads a scheduler_config.json. Throws InputError for another scheduler, values out of range, and options
  /// that are not supported here (invert_sigmas, shift_terminal, stochastic_sampling, Karras, exponential,
  /// beta or flow sigmas).
  static FlowMatchSettings load(const std::filesystem::path& path);
};

/// The shift's mu: linear in the number of image tokens, extrapolated beyond the two given points.
double shift_mu(const FlowMatchSettings& settings, std::int64_t image_tokens);

/// The noise levels of `steps` steps, descending from 1, and a final 0: steps + 1 values. Bit-identical to
/// diffusers' pipelines, which round to f32 before the shift. Throws InputError if steps or tokens are not
/// positive, or if the levels do not decrease.
std::vector<f32> sigmas(const FlowMatchSettings& settings, int steps, std::int64_t image_tokens);

/// The timestep of a noise level: sigma * num_train_timesteps. The model's input is this divided by
/// 1000.
f32 timestep(const FlowMatchSettings& settings, f32 sigma);

/// FluxPipeline's input for a transformer of dtype T, which multiplies it by 1000 in T: the timestep
/// rounded to T, divided by 1000, rounded to T.
template <ScalarDtype T>
T model_timestep(const FlowMatchSettings& settings, f32 sigma) {
  return convert<T>(convert<f32>(convert<T>(timestep(settings, sigma))) / 1000.0f);
}

/// Image to image: the number of steps to skip. Strength 1 skips none, 0 skips all. Throws InputError for a
/// strength outside [0, 1].
int img2img_start(int steps, double strength);

/// noise * sigma + sample * (1 - sigma), the initial latents of image to image. Throws ShapeError if the
/// shapes differ.
Tensor<f32> scale_noise(HostView<const f32> sample, HostView<const f32> noise, f32 sigma);

}  // namespace precast::sampling
