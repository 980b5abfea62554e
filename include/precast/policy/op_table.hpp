// The op table: the one function from (policy, op class) to the five dtypes of an op. Nothing else decides a
// dtype.
#pragma once

#include <precast/policy/op_row.hpp>
#include <precast/policy/policy.hpp>

namespace precast {

/// The row of the op table for a policy and an op class.
template <PolicyType P, OpClass Op>
using precisions = decltype(detail::row_of<P, Op>());

}  // namespace precast
