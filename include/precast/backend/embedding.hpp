// Embedding look-ups, on this translation unit's backend.
#pragma once

#include <precast/problem/gather_kernels.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/gather/embedding.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/gather/gather.hpp>
#endif
