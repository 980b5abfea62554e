// Transposed weights, for gradients, on this translation unit's backend.
#pragma once

#include <precast/backend/matmul.hpp>

#if PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/matmul/transposed_weight.hpp>
#else
#include <precast/host/matmul/transposed_weight.hpp>
#endif
