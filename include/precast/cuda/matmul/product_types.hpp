// ProductTypes: the part of a row of the op table that a single product depends on.
#pragma once

#include <precast/policy/op_table.hpp>

namespace precast::gpu {

/// The dtypes of a product. Nothing is kept inside of one, so that rows of the op table which differ in that
/// alone share its kernels.
template <class Types>
using ProductTypes = OpDtypes<typename Types::storage, typename Types::operand, typename Types::accumulate,
                              NoDtype, typename Types::result, Types::saturate>;

}  // namespace precast::gpu
