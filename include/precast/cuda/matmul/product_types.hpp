// Rows of the op table as a product takes them: with the narrowest operand that is exact (ExactTypes), and
// reduced to the dtypes that a single product depends on (ProductTypes).
#pragma once

#include <type_traits>

#include <precast/dtype/exact_operand.hpp>
#include <precast/policy/op_table.hpp>

namespace precast::gpu {

/// The same row for a product with values of X: where sums are f32, its operand is the dtype that
/// multiplies X and the weight exactly (ExactOperand).
template <class Types, class X>
using ExactTypes =
    OpDtypes<typename Types::storage,
             std::conditional_t<std::is_same_v<typename Types::accumulate, f32>,
                                ExactOperand<typename Types::operand, X, typename Types::storage>,
                                typename Types::operand>,
             typename Types::accumulate, typename Types::inside, typename Types::result, Types::saturate>;

/// The dtypes of a product. A product keeps no intermediates in `inside`, so rows of the op table that
/// differ only in that dtype share its kernels.
template <class Types, class Result = typename Types::result>
using ProductTypes = with_storage<Types, typename Types::storage, Result>;

}  // namespace precast::gpu
