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
  enum class Bias : bool { absent, present };

  NormParameters(const ParameterPath& place, std::int64_t size, Bias bias, double epsilon)
      : weight_(load_tensor<Storage>(place / "weight", {size})), epsilon_(epsilon) {
    if (bias == Bias::present) bias_ = load_tensor<Storage>(place / "bias", {size});
  }

  Tensor<Storage> weight_, bias_;
  double epsilon_;
};

/// Layer normalisation over the last dimension (Ba et al. 2016).
template <PolicyType P>
class LayerNorm : NormParameters<P> {
 public:
  LayerNorm(const ParameterPath& place, std::int64_t size, double epsilon)
      : NormParameters<P>(place, size, NormParameters<P>::Bias::present, epsilon) {}

  template <ScalarArray X>
  Tensor<typename NormParameters<P>::Result> operator()(const X& x) const {
    return layer_norm<P>(x, this->weight_.view(), this->bias_.view(), {.eps = this->epsilon_});
  }
};

/// RMS normalisation over the last dimension (Zhang and Sennrich 2019).
template <PolicyType P>
class RmsNorm : NormParameters<P> {
 public:
  using typename NormParameters<P>::Result;

  RmsNorm(const ParameterPath& place, std::int64_t size, double epsilon)
      : NormParameters<P>(place, size, NormParameters<P>::Bias::absent, epsilon) {}

  template <ScalarArray X>
  Tensor<Result> operator()(const X& x) const {
    return rms_norm<P>(x, this->weight_.view(), {.eps = this->epsilon_});
  }
  /// Normalises each head of x [..., heads * size].
  template <ScalarArray X>
  void heads_into(const X& x, View<Result> out) const {
    rms_norm_heads_into<P>(x, this->weight_.view(), {.eps = this->epsilon_}, out);
  }
};

/// Group normalisation over [batch, height, width, channels] (Wu and He 2018), with an activation fused into
/// the store.
template <PolicyType P>
class GroupNorm : NormParameters<P> {
 public:
  GroupNorm(const ParameterPath& place, std::int64_t groups, std::int64_t channels, double epsilon)
      : NormParameters<P>(place, channels, NormParameters<P>::Bias::present, epsilon), groups_(groups) {}

  template <ScalarArray X>
  Tensor<typename NormParameters<P>::Result> operator()(
      const X& x, ActivationFunction activate = ActivationFunction::none) const {
    return group_norm<P>(x, this->weight_.view(), this->bias_.view(), options(activate));
  }

  /// For an image that comes in parts: what is gathered from all of them first …
  GroupStatistics no_statistics() const { return GroupStatistics(groups_); }
  /// … what each of them is normalised with then …
  Tensor<f32> moments(const GroupStatistics& whole) const { return whole.moments(this->epsilon_); }
  /// … and a part so normalised.
  template <ScalarArray X>
  Tensor<typename NormParameters<P>::Result> with(
      const X& x, const Tensor<f32>& moments, ActivationFunction activate = ActivationFunction::none) const {
    return group_norm_with<P>(x, moments, this->weight_.view(), this->bias_.view(), options(activate));
  }

 private:
  GroupNormOptions options(ActivationFunction activate) const {
    return {.groups = groups_, .eps = this->epsilon_, .activation = activate};
  }

  std::int64_t groups_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::nn
