// Declarations of the kernels of reductions, for either backend; documented at the definitions.
#pragma once

#include <cstdint>

#include <precast/problem/context.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

/// How a reduction combines values into one.
enum class Reduce { sum, mean };

}  // namespace precast

namespace precast::PRECAST_KERNELS {

template <class Types, class From>
void reduce_values(View<const From> x, std::int64_t length, Reduce reduce,
                   View<typename Types::result> out PRECAST_ON_STREAM);

}  // namespace precast::PRECAST_KERNELS
