// Products and the weights that they take, on this translation unit's backend.
#pragma once

#include <precast/problem/product_kernels.hpp>

#if PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/matmul/packed_weight.hpp>
#else
#include <precast/host/matmul/block_weight.hpp>
#include <precast/host/matmul/packed_weight.hpp>
#endif

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/matmul/matmul.hpp>
#include <precast/cuda/matmul/transpose.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/blocks/block_dots.hpp>
#include <precast/host/matmul/matmul.hpp>
#include <precast/host/rows/transpose.hpp>
#endif
