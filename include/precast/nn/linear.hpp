// Linear: a matmul with weights of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <precast/backend.hpp>
#include <precast/nn/held_as.hpp>
#include <precast/nn/parameters.hpp>
#include <precast/ops/linear.hpp>

namespace precast::nn {

inline namespace PRECAST_BACKEND {

/// y = x W^T + b, then an activation. The weight is packed once, as it is read, into the policy's storage.
/// A weight that its file has in narrower scalars (held_as), or in blocks that do not cross rows, stays in
/// that dtype and is decoded as it is multiplied.
template <PolicyType P>
class Linear {
 public:
  using Storage = typename LinearWeight<P>::Storage;
  using BiasStorage = typename LinearWeight<P>::BiasStorage;
  using Result = typename precisions<P, Matmul>::result;

  /// Loads "weight" [out_features, in_features] and, unless absent, "bias" [out_features].
  Linear(const ParameterPath& place, std::int64_t in_features, std::int64_t out_features,
         Bias bias = Bias::present)
      : weight_(packed(place, in_features, out_features, bias)) {}

  /// x [..., in_features] -> [..., out_features].
  template <ScalarArray X>
  Tensor<Result> operator()(const X& x, ActivationFunction activate = ActivationFunction::none) const {
    return linear<P>(x, weight_, {.activation = activate});
  }
  template <ScalarArray X>
  void into(const X& x, ActivationFunction activate, View<Result> out) const {
    linear_into<P>(x, weight_, {.activation = activate}, out);
  }
  template <ScalarArray X>
  void into(const X& x, View<Result> out) const {
    into(x, ActivationFunction::none, out);
  }

 private:
  static LinearWeight<P> packed(const ParameterPath& place, std::int64_t in_features,
                                std::int64_t out_features, Bias has_bias) {
    const ParameterPath weight = place / "weight";
    const Parameter parameter = weight.find({out_features, in_features});
    HostTensor<BiasStorage> bias;
    if (has_bias == Bias::present) bias = load_host_tensor<BiasStorage>(place / "bias", {out_features});
    if constexpr (backend::holds_blocks_of_files<Storage>)
      if (LinearWeight<P>::bytes_in_blocks(parameter.dtype, out_features, in_features) ==
          std::ssize(parameter.bytes))
        return LinearWeight<P>::in_blocks(
            parameter.dtype, out_features, in_features,
            [&](std::span<std::byte> rows) { read_bytes(weight, parameter, rows); }, bias.values());
    return held_as<Storage>(parameter, [&]<class Held>(std::type_identity<Held>) {
      if constexpr (std::is_same_v<Held, Storage>)
        return LinearWeight<P>(out_features, in_features, rows_of_parameter<Storage>(weight, parameter),
                               bias.values());
      else
        return LinearWeight<P>::template in_scalars<Held>(
            out_features, in_features, unconverted_rows<Held>(weight, parameter), bias.values());
    });
  }

  LinearWeight<P> weight_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::nn
