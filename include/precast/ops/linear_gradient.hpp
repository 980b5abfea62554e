// linear_gradient: y W, which carries the gradient of a linear layer's result back to its input.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include <precast/backend.hpp>
#include <precast/backend/matmul.hpp>
#include <precast/backend/turned_weight.hpp>
#include <precast/ops/linear.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast {

namespace detail {

inline namespace PRECAST_BACKEND {

/// The row of the op table for products with a weight that is turned over. Scalars are stored as they are;
/// blocks, whose values cannot change places, as operands, which is what products make of them.
template <class Types>
using turned_types = OpDtypes<
    std::conditional_t<
        ScalarDtype<typename Types::storage>, typename Types::storage,
        std::conditional_t<std::is_same_v<typename Types::operand, tf32>, f32, typename Types::operand>>,
    typename Types::operand, typename Types::accumulate, NoDtype, typename Types::result, Types::saturate>;

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// The weight of a linear layer turned over, in memory of its own: made of the layer's for products y W.
template <PolicyType P>
class TurnedWeight {
 public:
  using Types = detail::turned_types<precisions<P, Matmul>>;

  explicit TurnedWeight(const LinearWeight<P>& weight) : weight_(backend::turned<Types>(weight.weight())) {}

  std::int64_t out_features() const { return weight_.columns(); }
  std::int64_t in_features() const { return weight_.features(); }
  const auto& weight() const { return weight_; }
  std::int64_t bytes() const { return weight_.bytes(); }

 private:
  backend::PackedWeight<typename Types::storage> weight_;
};

/// y W for y [..., out_features], the gradient of a layer's result: [..., in_features]. Operands, sums and
/// results are rounded as linear's. Throws ShapeError where shapes do not fit.
template <PolicyType P, ScalarArray Y>
Tensor<typename precisions<P, Matmul>::result> linear_gradient(const Y& y, const TurnedWeight<P>& weight) {
  const auto in = as_view(y);
  if (in.columns() != weight.out_features())
    throw ShapeError("linear_gradient: " + to_string(in.shape()) + " does not have the " +
                     std::to_string(weight.out_features()) + " columns that the layer makes");
  return detail::run_op<Matmul, precisions<P, Matmul>>(
      "linear_gradient", in.shape().with_back(weight.in_features()), [&]<class Types>(Types, auto out) {
        using Turned = OpDtypes<typename TurnedWeight<P>::Types::storage, typename Types::operand,
                                typename Types::accumulate, NoDtype, typename Types::result, Types::saturate>;
        backend::matmul_transposed<Turned>(in, weight.weight(), Epilogue{}, out);
      });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
