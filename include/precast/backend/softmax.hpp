// Softmax of rows, on this translation unit's backend.
#pragma once

#include <precast/problem/softmax_kernel.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/softmax/softmax.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/softmax/softmax.hpp>
#endif
