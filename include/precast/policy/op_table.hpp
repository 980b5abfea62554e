// The op table: the one function from (policy, op class) to the five dtypes of an op. Nothing else decides a
// dtype.
#pragma once

#include <type_traits>

#include <precast/policy/policy.hpp>

namespace precast {

/// Stands in the table where an op class has no such value: nothing is summed in a gate, nothing is kept
/// inside a single product.
struct NoDtype {};

/// How the vectors of a model (norm scales and shifts, biases) are stored where its matrices are stored as
/// StorageType: the same way where that is scalar, in f32 where it is blocks.
template <class StorageType>
using vector_storage_for = std::conditional_t<BlockDtype<StorageType>, f32, StorageType>;

/// The five dtypes of an op, and what its stores do above the range. Kernels take this and nothing else.
template <class StorageType, class OperandType, class AccumulateType, class InsideType, class ResultType,
          bool Saturates = false>
struct Precisions {
  using storage = StorageType;        ///< parameters at rest: the matrix, or a norm's vectors
  using operand = OperandType;        ///< what is multiplied
  using accumulate = AccumulateType;  ///< what products are summed in
  using inside = InsideType;          ///< what a composite op keeps between its steps
  using result = ResultType;          ///< what is stored
  using vector_storage = vector_storage_for<StorageType>;  ///< the bias beside the matrix, at rest
  static constexpr bool saturate = Saturates;
};

namespace detail {

template <class Policy, class Op>
consteval auto resolve() {
  using S = typename Policy::storage;
  using R = typename Policy::activation;
  constexpr bool saturate = Policy::saturate;
  constexpr bool upcast = Policy::template upcasts<Op>;
  using Operand = std::conditional_t<upcast, f32, typename Policy::compute>;
  using Sum = std::conditional_t<upcast, f32, typename Policy::accumulate>;
  using Given = std::conditional_t<upcast, f32, R>;
  if constexpr (std::is_same_v<Op, Matmul> || std::is_same_v<Op, Conv>) {
    return Precisions<S, Operand, Sum, NoDtype, R, saturate>{};
  } else if constexpr (std::is_same_v<Op, Attention>) {
    using Inside = std::conditional_t<Policy::flash || upcast, f32, activation_for<typename Policy::compute>>;
    return Precisions<S, Operand, Sum, Inside, R, saturate>{};
  } else if constexpr (std::is_same_v<Op, Norm>) {
    return Precisions<vector_storage_for<S>, Given, f32, f32, R, saturate>{};
  } else if constexpr (std::is_same_v<Op, Softmax> || std::is_same_v<Op, Reduction> ||
                       std::is_same_v<Op, Loss>) {
    return Precisions<S, Given, f32, f32, f32, saturate>{};
  } else if constexpr (std::is_same_v<Op, Pointwise>) {
    return Precisions<S, Given, NoDtype, f32, R, saturate>{};
  } else {
    static_assert(std::is_same_v<Op, Position>, "The op table has no row for this op class.");
    return Precisions<S, f32, f32, f32, R, saturate>{};
  }
}

}  // namespace detail

/// The row of the op table for a policy and an op class.
template <PolicyType P, OpClass Op>
using precisions = decltype(detail::resolve<P, Op>());

/// The same op with every value in f32: what the watch hook compares a non-finite result with.
template <class Types>
using widened_to_f32 = Precisions<typename Types::storage, f32, f32, f32, f32>;

}  // namespace precast
