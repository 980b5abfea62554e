// The declaration of the kernel behind the watch hook's counts, for either backend; documented at its
// definition.
#pragma once

#include <precast/problem/context.hpp>
#include <precast/problem/extremes.hpp>
#include <precast/tensor/view.hpp>

namespace precast::PRECAST_KERNELS {

template <ScalarDtype T>
Extremes extremes_of(View<const T> x PRECAST_ON_STREAM);

}  // namespace precast::PRECAST_KERNELS
