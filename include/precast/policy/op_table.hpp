// The op table: the one function from (policy, op class) to the five dtypes of an op. Nothing else decides a
// dtype.
#pragma once

#include <string_view>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/policy/op_class.hpp>

namespace precast {

/// The table's cell for a value that an op class does not have: a gate sums nothing, a single product has
/// no intermediate.
struct NoDtype {};
/// The table's cell for operands that an op takes exactly, in whatever dtype they have: widening them first
/// would change nothing.
struct AsGiven {};

/// A cell of the table as tables and traces print it: "bf16", "as given", or nothing.
template <class T>
constexpr std::string_view dtype_name() {
  if constexpr (std::is_same_v<T, NoDtype>)
    return {};
  else if constexpr (std::is_same_v<T, AsGiven>)
    return "as given";
  else
    return dtype_traits<T>::name;
}

/// The storage dtype of a model's vectors (norm scales and shifts, biases) beside matrices in StorageType:
/// StorageType itself where it is a scalar, f32 where it is a block dtype.
template <class StorageType>
using vector_storage_for = std::conditional_t<BlockDtype<StorageType>, f32, StorageType>;

namespace detail {
template <class T>
inline constexpr bool is_canonical_policy = false;
}

/// A type made by Policy<...> (policy/policy.hpp).
template <class T>
concept PolicyType = detail::is_canonical_policy<T>;

/// The five dtypes of an op, and whether its stores saturate. Kernels take this and nothing else.
template <class StorageType, class OperandType, class AccumulateType, class InsideType, class ResultType,
          bool Saturates = false>
struct OpDtypes {
  using storage = StorageType;  ///< parameters at rest: the matrix, or a norm's vectors
  using vector_storage = vector_storage_for<StorageType>;  ///< the bias beside the matrix, at rest
  using operand = OperandType;                             ///< what is multiplied, or computed with
  using accumulate = AccumulateType;                       ///< what sums are kept in
  using inside = InsideType;                               ///< what a composite op keeps between its steps
  using result = ResultType;                               ///< what is stored
  static constexpr bool saturate = Saturates;
};

/// The five dtypes by name, as tables and traces print them; empty where an op class has no such value.
struct DtypeNames {
  std::string_view storage, operand, accumulate, inside, result;

  friend constexpr bool operator==(const DtypeNames&, const DtypeNames&) = default;
};

/// The names in a row of the op table.
template <class Types>
constexpr DtypeNames dtype_names() {
  return {.storage = dtype_name<typename Types::storage>(),
          .operand = dtype_name<typename Types::operand>(),
          .accumulate = dtype_name<typename Types::accumulate>(),
          .inside = dtype_name<typename Types::inside>(),
          .result = dtype_name<typename Types::result>()};
}

namespace detail {

template <class T>
struct between_ops_of {
  using type = T;
};
template <class T>
  requires requires { typename dtype_traits<T>::between_ops; }
struct between_ops_of<T> {
  using type = typename dtype_traits<T>::between_ops;
};

}  // namespace detail

/// The dtype between ops for products of an operand dtype: its `between_ops` where it has one, else itself.
template <class T>
using activation_for = typename detail::between_ops_of<T>::type;

namespace detail {

/// The table itself. `Options` has a policy's dtypes and says which op classes it casts up and down.
template <class Options, class Op>
consteval auto row_of() {
  using S = typename Options::storage;
  using C = typename Options::compute;
  using R = typename Options::activation;
  constexpr bool saturate = Options::saturate;
  constexpr bool up = Options::template upcasts<Op>, down = Options::template downcasts<Op>;
  using Stored = activation_for<C>;  // results between ops, and intermediates inside one
  using Wide = std::conditional_t<down, Stored, f32>;
  if constexpr (std::is_same_v<Op, Matmul> || std::is_same_v<Op, Conv> || std::is_same_v<Op, Attention>) {
    using Operand = std::conditional_t<up, f32, C>;
    using Sum = std::conditional_t<up || down, Wide, typename Options::accumulate>;
    using Scores = std::conditional_t<Options::flash || up, f32, Stored>;
    using Inside = std::conditional_t<std::is_same_v<Op, Attention>, Scores, NoDtype>;
    return OpDtypes<S, Operand, Sum, Inside, R, saturate>{};
  } else if constexpr (std::is_same_v<Op, Norm>) {
    return OpDtypes<vector_storage_for<S>, AsGiven, Wide, Wide, R, saturate>{};
  } else if constexpr (std::is_same_v<Op, Softmax> || std::is_same_v<Op, Reduction> ||
                       std::is_same_v<Op, Loss>) {
    return OpDtypes<S, AsGiven, Wide, Wide, f32, saturate>{};
  } else if constexpr (std::is_same_v<Op, Pointwise>) {
    return OpDtypes<S, AsGiven, NoDtype, Wide, R, saturate>{};
  } else {
    static_assert(std::is_same_v<Op, Position>, "The op table has no row for this op class.");
    return OpDtypes<S, f32, f32, f32, R, saturate>{};
  }
}

template <class T>
using f32_unless_marked =
    std::conditional_t<std::is_same_v<T, NoDtype> || std::is_same_v<T, AsGiven>, T, f32>;

// The class in between is for nvcc before 13, which writes an alias of a decltype as another such alias.
template <PolicyType P, OpClass Op>
struct Row {
  using type = decltype(row_of<P, Op>());
};

}  // namespace detail

/// The row of the op table for a policy and an op class.
template <PolicyType P, OpClass Op>
using precisions = typename detail::Row<P, Op>::type;

/// The row of a product whose right operand is stored as Right. Ops, kernels, instances must agree on it.
template <class Types, class Right, class Result = typename Types::result>
using with_storage =
    OpDtypes<Right, typename Types::operand, typename Types::accumulate, NoDtype, Result, Types::saturate>;

/// The same op with every value in f32: the watch hook's reference for a non-finite result.
template <class Types>
using widened_to_f32 = OpDtypes<typename Types::storage, detail::f32_unless_marked<typename Types::operand>,
                                detail::f32_unless_marked<typename Types::accumulate>,
                                detail::f32_unless_marked<typename Types::inside>, f32>;

/// What the norm, softmax and pointwise kernels require of their row: operands as given, or f32, which has
/// the same effect.
template <class Types>
inline constexpr bool takes_as_given =
    std::is_same_v<typename Types::operand, AsGiven> || std::is_same_v<typename Types::operand, f32>;
/// What the position kernels require of their row.
template <class Types>
inline constexpr bool computes_in_f32 = std::conjunction_v<std::is_same<typename Types::operand, f32>,
                                                           std::is_same<typename Types::accumulate, f32>,
                                                           std::is_same<typename Types::inside, f32>>;

/// The dtypes of the sampler's step under every policy.
using SamplerStep = OpDtypes<f32, f32, NoDtype, f32, f32>;

}  // namespace precast
