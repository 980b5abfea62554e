// Conversion of arrays, on this translation unit's backend.
#pragma once

#include <precast/problem/value_kernels.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/pointwise/convert_values.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/pointwise/convert_values.hpp>
#endif
