// Convolution and the weights that it takes, on this translation unit's backend.
#pragma once

#include <precast/problem/product_kernels.hpp>

#if PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/matmul/packed_weight.hpp>
#else
#include <precast/host/matmul/packed_weight.hpp>
#endif

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/conv/conv.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/conv/conv.hpp>
#endif
