// Kernels of reductions, as either backend's are declared; each is documented where it is defined.
#pragma once

#include <cstdint>

#include <precast/problem/context.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

/// What becomes of the values that are reduced to one.
enum class Reduce { sum, mean };

}  // namespace precast

namespace precast::PRECAST_KERNELS {

template <class Types, class From>
void reduce_values(View<const From> x, std::int64_t length, Reduce reduce,
                   View<typename Types::result> out PRECAST_ON_STREAM);

}  // namespace precast::PRECAST_KERNELS
