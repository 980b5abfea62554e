// SamplerState: runs a sampler on latents in the backend's memory, with the predictions that it keeps. Only
// for translation units of a backend, such as models.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sampling/sampler.hpp>

#include <precast/error.hpp>
#include <precast/ops/sampler.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::sampling {

inline namespace PRECAST_BACKEND {

/// Steps a run from call to call. All tensors have the shape of the latents, in any layout common to all;
/// nothing is copied to the host.
class SamplerState {
 public:
  /// `sampler` must outlive it.
  SamplerState(const Sampler& sampler, const Shape& latents) : sampler_(sampler) {
    for (int i = 0; i < sampler.own_tensors(); ++i) own_.emplace_back(latents);
  }

  /// The model's input for a call: the latents over its divisor. `out` may alias the latents.
  void model_input_into(std::int64_t call, View<const f32> latents, View<f32> out) const {
    combine_into(latents, {.divisor = sampler_.input_divisor(call)}, out);
  }

  /// Advances the latents in place from the noise level of a call to the next. Must be called for each call
  /// in order. Throws InputError if it is not, or if the step draws noise and none is given.
  void step(std::int64_t call, View<f32> latents, View<const f32> prediction,
            std::optional<View<const f32>> noise = std::nullopt) {
    if (call != next_)
      throw InputError("SamplerState: call " + std::to_string(call) + " is stepped where call " +
                       std::to_string(next_) + " is next: step each once, in order");
    if (sampler_.draws_noise(call) && !noise)
      throw InputError("SamplerState: the step of call " + std::to_string(call) + " needs noise: draw it");
    ++next_;
    for (const SamplerOperation& operation : sampler_.operations(call)) {
      const auto in = [&](std::size_t i) -> View<const f32> {
        const int place = operation.in[i];
        if (place == Sampler::latents) return latents;
        if (place == Sampler::prediction) return prediction;
        if (place == Sampler::noise) return *noise;
        return own_[static_cast<std::size_t>(place - Sampler::own)].view();
      };
      const View<f32> out = operation.out == Sampler::latents
                                ? latents
                                : own_[static_cast<std::size_t>(operation.out - Sampler::own)].view();
      switch (operation.in.size()) {
        case 1:
          combine_into(in(0), operation.how, out);
          break;
        case 2:
          combine_into(in(0), in(1), operation.how, out);
          break;
        case 3:
          combine_into(in(0), in(1), in(2), operation.how, out);
          break;
        default:
          combine_into(in(0), in(1), in(2), in(3), operation.how, out);
      }
    }
  }

 private:
  const Sampler& sampler_;
  std::vector<Tensor<f32>> own_;
  std::int64_t next_ = 0;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::sampling
