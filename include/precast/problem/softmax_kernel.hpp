// The declaration of the kernel of softmax, for either backend; documented at its definition.
#pragma once

#include <precast/problem/context.hpp>
#include <precast/tensor/view.hpp>

namespace precast::PRECAST_KERNELS {

template <class Types, class From>
void softmax(View<const From> x, View<typename Types::result> out PRECAST_ON_STREAM);

}  // namespace precast::PRECAST_KERNELS
