// Declarations of the kernels that take each value by itself, for either backend; documented
// at the definitions.
#pragma once

#include <precast/problem/context.hpp>
#include <precast/tensor/owned_tensor.hpp>

namespace precast::PRECAST_KERNELS {

template <ScalarDtype To, bool Saturates = false, ScalarArray A>
void convert_values(const A& from, View<To> to PRECAST_ON_STREAM);
template <ScalarDtype Rounded, bool Saturates, ScalarDtype T>
void round_in_place(View<T> values PRECAST_ON_STREAM);
template <class Types, class F, class... In>
void map_values(View<typename Types::result> out, const F& function, const In&... in);
template <class Types, class From>
void copy_values(View<const From> x, View<typename Types::result> out PRECAST_ON_STREAM);

}  // namespace precast::PRECAST_KERNELS
