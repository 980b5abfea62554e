// Attention in training, on this translation unit's backend.
#pragma once

#include <precast/problem/attention_gradient_kernels.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/attention/attention_gradient.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/attention/attention_gradient.hpp>
#endif
