// Conv2d: a convolution with weights of its own, over [batch, height, width, channels].
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/backend.hpp>
#include <precast/nn/held_as.hpp>
#include <precast/nn/parameters.hpp>
#include <precast/ops/conv.hpp>

namespace precast::nn {

inline namespace PRECAST_BACKEND {

/// A square convolution with a bias. The weight is packed once, as it is read, into the policy's storage, or
/// in its file's dtype where that is narrower (held_as).
template <PolicyType P>
class Conv2d {
 public:
  using Storage = typename ConvWeight<P>::Storage;
  using BiasStorage = typename ConvWeight<P>::BiasStorage;
  using Result = typename precisions<P, Conv>::result;

  /// Loads "weight" [out_channels, in_channels, kernel, kernel] and "bias" [out_channels].
  Conv2d(const ParameterPath& place, std::int64_t in_channels, std::int64_t out_channels, std::int64_t kernel)
      : weight_(packed(place, in_channels, out_channels, kernel)), kernel_(kernel) {}

  /// Stride 1, padded by kernel / 2 on every side: keeps height and width where the kernel is odd, and makes
  /// them larger by 1 where it is even.
  template <ScalarArray X>
  Tensor<Result> operator()(const X& x, ActivationFunction activate = ActivationFunction::none) const {
    const std::int64_t pad = kernel_ / 2;
    return with(
        x, {.pad_top = pad, .pad_left = pad, .pad_bottom = pad, .pad_right = pad, .activation = activate});
  }
  /// Any stride and padding.
  template <ScalarArray X>
  Tensor<Result> with(const X& x, const ConvOptions& options) const {
    return conv2d<P>(x, weight_, options);
  }

 private:
  static ConvWeight<P> packed(const ParameterPath& place, std::int64_t in_channels, std::int64_t out_channels,
                              std::int64_t kernel) {
    const ParameterPath weight = place / "weight";
    const Parameter parameter = weight.find({out_channels, in_channels, kernel, kernel});
    const HostTensor<BiasStorage> bias = load_host_tensor<BiasStorage>(place / "bias", {out_channels});
    return held_as<Storage>(parameter, [&]<class Held>(std::type_identity<Held>) {
      if constexpr (std::is_same_v<Held, Storage>)
        return ConvWeight<P>(out_channels, in_channels, kernel, kernel,
                             rows_of_parameter<Storage>(weight, parameter), bias.values());
      else
        return ConvWeight<P>::template in_scalars<Held>(out_channels, in_channels, kernel, kernel,
                                                        unconverted_rows<Held>(weight, parameter),
                                                        bias.values());
    });
  }

  ConvWeight<P> weight_;
  std::int64_t kernel_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::nn
