// LayerNorm, RmsNorm and GroupNorm with weights of their own.
#pragma once

#include <cstdint>

#include <precast/backend.hpp>
#include <precast/nn/group_statistics.hpp>
#include <precast/nn/parameters.hpp>
#include <precast/ops/norm.hpp>
#include <precast/problem/activate.hpp>

namespace precast::nn {

inline namespace PRECAST_BACKEND {

/// What the three norms share: "weight" and perhaps "bias" over `size` values, in the policy's storage of
/// vectors.
template <PolicyType P>
class NormParameters {
 public:
  using Storage = typename precisions<P, Norm>::storage;
  using Result = typename precisions<P, Norm>::result;

 protected:
  NormParameters(const ParameterPath& place, std::int64_t size, Bias bias, double eps)
      : weight_(load_tensor<Storage>(place / "weight", {size})), eps_(eps) {
    if (bias == Bias::present) bias_ = load_tensor<Storage>(place / "bias", {size});
  }

  Tensor<Storage> weight_, bias_;
  double eps_;
};

/// Layer normalisation over the last dimension (Ba et al. 2016).
template <PolicyType P>
class LayerNorm : NormParameters<P> {
 public:
  LayerNorm(const ParameterPath& place, std::int64_t size, double eps)
      : NormParameters<P>(place, size, Bias::present, eps) {}

  template <ScalarArray X>
  Tensor<typename NormParameters<P>::Result> operator()(const X& x) const {
    return layer_norm<P>(x, this->weight_.view(), this->bias_.view(), {.eps = this->eps_});
  }
};

/// RMS normalisation over the last dimension (Zhang and Sennrich 2019).
template <PolicyType P>
class RmsNorm : NormParameters<P> {
 public:
  using typename NormParameters<P>::Result;

  RmsNorm(const ParameterPath& place, std::int64_t size, double eps)
      : NormParameters<P>(place, size, Bias::absent, eps) {}

  template <ScalarArray X>
  Tensor<Result> operator()(const X& x) const {
    return rms_norm<P>(x, this->weight_.view(), {.eps = this->eps_});
  }
  /// Normalises each head of x [..., heads * size].
  template <ScalarArray X>
  void heads_into(const X& x, View<Result> out) const {
    rms_norm_heads_into<P>(x, this->weight_.view(), {.eps = this->eps_}, out);
  }
};

/// Group normalisation over [batch, height, width, channels] (Wu and He 2018), with an activation fused into
/// the store.
template <PolicyType P>
class GroupNorm : NormParameters<P> {
 public:
  GroupNorm(const ParameterPath& place, std::int64_t groups, std::int64_t channels, double eps)
      : NormParameters<P>(place, channels, Bias::present, eps), groups_(groups) {}

  template <ScalarArray X>
  Tensor<typename NormParameters<P>::Result> operator()(
      const X& x, ActivationFunction activate = ActivationFunction::none) const {
    return group_norm<P>(x, this->weight_.view(), this->bias_.view(), options(activate));
  }

  /// For an image that comes in parts: first gather the statistics of all parts …
  GroupStatistics empty_statistics() const { return GroupStatistics(groups_); }
  /// … then compute the moments of the whole …
  Tensor<f32> moments(const GroupStatistics& whole) const { return whole.moments(this->eps_); }
  /// … and normalise each part with these.
  template <ScalarArray X>
  Tensor<typename NormParameters<P>::Result> with(
      const X& x, const Tensor<f32>& moments, ActivationFunction activate = ActivationFunction::none) const {
    return group_norm_with<P>(x, moments, this->weight_.view(), this->bias_.view(), options(activate));
  }

 private:
  GroupNormOptions options(ActivationFunction activate) const {
    return {.groups = groups_, .eps = this->eps_, .activation = activate};
  }

  std::int64_t groups_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::nn
