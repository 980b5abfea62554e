// Plain attention, with scores in memory, on this translation unit's backend.
#pragma once

#include <precast/problem/attention_kernels.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/attention/plain_attention.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/attention/plain_attention.hpp>
#endif
