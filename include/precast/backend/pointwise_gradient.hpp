// Gradients of pointwise functions, on this translation unit's backend.
#pragma once

#include <precast/problem/gradient_kernels.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/pointwise/gated_product_gradient.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/pointwise/pointwise_gradient.hpp>
#endif
