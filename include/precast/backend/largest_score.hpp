// The watch hook's probe of an attention's scores, on this translation unit's backend.
#pragma once

#include <precast/backend.hpp>
#include <precast/problem/attention_kernels.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/attention/largest_score.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/attention/plain_attention.hpp>
#endif
