// GradScaler: a loss multiplied before its gradients are computed, so that small ones do not vanish in f16.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>

namespace precast::train {

/// The options of torch.amp.GradScaler, with its names and defaults.
struct GradScalerOptions {
  bool enabled = true;
  double init_scale = 65536;            ///< the first scale, above 0
  double growth_factor = 2;             ///< above 1
  double backoff_factor = 0.5;          ///< above 0 and below 1
  std::int64_t growth_interval = 2000;  ///< steps in a row without inf or NaN before the scale grows
};

/// The counterpart of PyTorch's GradScaler: the loss is multiplied by `scale()`, gradients are divided by
/// it (`unscale`), a step whose gradients hold inf or NaN is skipped and lowers the scale, and
/// `growth_interval` good steps in a row raise it. The scale is an f32, as PyTorch's is.
class GradScaler {
 public:
  GradScaler() = default;
  /// Throws InputError where an option is out of its range.
  explicit GradScaler(const GradScalerOptions& options) : options_(options) {
    const auto require = [](bool holds, const std::string& rule) {
      if (!holds) throw InputError("loss scaling: " + rule);
    };
    require(std::isfinite(options.init_scale) && options.init_scale > 0 &&
                std::isfinite(static_cast<f32>(options.init_scale)) &&
                static_cast<f32>(options.init_scale) > 0,
            "the first scale must be above 0 and finite in f32");
    require(options.growth_factor > 1 && std::isfinite(options.growth_factor),
            "the growth factor must be above 1");
    require(options.backoff_factor > 0 && options.backoff_factor < 1,
            "the backoff factor must be between 0 and 1");
    require(options.growth_interval >= 1, "the growth interval must be at least 1 step");
    scale_ = static_cast<f32>(options.init_scale);
  }

  const GradScalerOptions& options() const { return options_; }
  bool enabled() const { return options_.enabled; }
  /// The factor on the loss; 1 where the scaler is not enabled.
  f32 scale() const { return options_.enabled ? scale_ : 1.0f; }
  /// Good steps since the last change of the scale.
  std::int64_t growth_tracker() const { return growth_tracker_; }

  /// Restores the state in a checkpoint. Throws InputError for an invalid scale or tracker.
  void restore(f32 scale, std::int64_t growth_tracker) {
    if (!(scale >= 0) || !std::isfinite(scale) || growth_tracker < 0 ||
        growth_tracker >= options_.growth_interval)
      throw InputError(
          "loss scaling: a checkpoint's scale or growth tracker does not fit the options: resume with the "
          "options that it was written with");
    scale_ = scale;
    growth_tracker_ = growth_tracker;
  }

  /// The factor that unscales gradients: the rounded reciprocal of the scale.
  f32 inverse() const { return static_cast<f32>(1.0 / static_cast<double>(scale())); }

  /// Ends a step. `found_non_finite` says that a gradient was inf or NaN, and the step was skipped.
  void update(bool found_non_finite) {
    if (!options_.enabled) return;
    if (found_non_finite) {
      scale_ = static_cast<f32>(static_cast<double>(scale_) * options_.backoff_factor);
      growth_tracker_ = 0;
      return;
    }
    if (++growth_tracker_ < options_.growth_interval) return;
    const f32 grown = static_cast<f32>(static_cast<double>(scale_) * options_.growth_factor);
    if (std::isfinite(grown)) scale_ = grown;  // PyTorch bounds it to what f32 holds
    growth_tracker_ = 0;
  }

 private:
  GradScalerOptions options_{.enabled = false};
  f32 scale_ = 1;
  std::int64_t growth_tracker_ = 0;
};

}  // namespace precast::train
