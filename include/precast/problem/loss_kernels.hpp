// Kernels of losses, as either backend's are declared; each is documented where it is defined.
#pragma once

#include <cstdint>
#include <span>

#include <precast/problem/context.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

/// The target of a row that a cross entropy leaves out.
inline constexpr std::int32_t no_target = -1;

}  // namespace precast

namespace precast::PRECAST_KERNELS {

template <class Types, class X, class Y>
void mean_squared_error(View<const X> x, View<const Y> y, View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class From>
void cross_entropy(View<const From> logits, std::span<const std::int32_t> targets,
                   View<typename Types::result> out PRECAST_ON_STREAM);

}  // namespace precast::PRECAST_KERNELS
