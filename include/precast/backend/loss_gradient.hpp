// Gradients of losses, on this translation unit's backend.
#pragma once

#include <precast/problem/gradient_kernels.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/loss/cross_entropy_gradient.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/loss/loss_gradient.hpp>
#endif
