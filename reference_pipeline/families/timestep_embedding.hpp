// TimestepEmbedding, as in diffusers: embeds a time, a guidance or a pooled text for a denoiser.
#pragma once

#include <cstdint>

#include <precast/backend.hpp>
#include <precast/nn/linear.hpp>
#include <precast/nn/parameters.hpp>
#include <precast/policy/policy.hpp>
#include <precast/problem/activate.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/watch/scope.hpp>

namespace precast::families {

inline namespace PRECAST_BACKEND {

/// Two linear layers with silu between them.
template <PolicyType P>
class TimestepEmbedding {
 public:
  TimestepEmbedding(const nn::ParameterPath& place, std::int64_t in_features, std::int64_t width)
      : first_(place / "linear_1", in_features, width), second_(place / "linear_2", width, width) {}

  template <ScalarArray X>
  Tensor<typename P::activation> operator()(const X& x) const {
    const auto hidden = watch::scoped("linear_1", [&] { return first_(x, ActivationFunction::silu); });
    return watch::scoped("linear_2", [&] { return second_(hidden); });
  }

 private:
  nn::Linear<P> first_, second_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::families
