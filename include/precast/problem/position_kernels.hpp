// Kernels of position embeddings, as either backend's are declared; each is documented where it is defined.
#pragma once

#include <precast/dtype/scalar.hpp>
#include <precast/problem/context.hpp>
#include <precast/tensor/view.hpp>

namespace precast::PRECAST_KERNELS {

template <class Types, class From>
void rotary(View<const From> x, View<const f32> cos, View<const f32> sin,
            View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types>
void timestep_embedding(View<const f32> times, View<typename Types::result> out PRECAST_ON_STREAM);

}  // namespace precast::PRECAST_KERNELS
