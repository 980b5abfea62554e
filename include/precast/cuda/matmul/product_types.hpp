// Rows of the op table as a product takes them: with the operand that is exact in less (ExactTypes), and of
// them what a single product depends on (ProductTypes).
#pragma once

#include <type_traits>

#include <precast/dtype/exact_operand.hpp>
#include <precast/policy/op_table.hpp>

namespace precast::gpu {

/// The same row for a product with values of X: what multiplies these and the weight exactly is its operand,
/// where sums are f32.
template <class Types, class X>
using ExactTypes =
    OpDtypes<typename Types::storage,
             std::conditional_t<std::is_same_v<typename Types::accumulate, f32>,
                                ExactOperand<typename Types::operand, X, typename Types::storage>,
                                typename Types::operand>,
             typename Types::accumulate, typename Types::inside, typename Types::result, Types::saturate>;

/// The dtypes of a product. Nothing is kept inside of one, so that rows of the op table which differ in that
/// alone share its kernels.
template <class Types, class Result = typename Types::result>
using ProductTypes = with_storage<Types, typename Types::storage, Result>;

}  // namespace precast::gpu
