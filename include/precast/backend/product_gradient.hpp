// Products of gradients, and sums of rows, on this translation unit's backend.
#pragma once

#include <precast/problem/gradient_kernels.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/matmul/product_gradient.hpp>
#include <precast/cuda/reduction/sum_of_rows.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/matmul/product_gradient.hpp>
#include <precast/host/reduction/sum_of_rows.hpp>
#endif
