// Products and the weights that they take, on this translation unit's backend.
#pragma once

#include <precast/backend/backend.hpp>

#if PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/kernels.hpp>
#else
#include <precast/host/matmul.hpp>
#include <precast/host/packed_weight.hpp>
#include <precast/host/transpose.hpp>
#endif
