// Pointwise functions, on this translation unit's backend.
#pragma once

#include <precast/problem/broadcast.hpp>
#include <precast/problem/value_kernels.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/pointwise/map_values.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/pointwise/row_map.hpp>
#endif
