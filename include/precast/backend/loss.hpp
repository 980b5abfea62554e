// Losses, on this translation unit's backend.
#pragma once

#include <precast/problem/loss_kernels.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/loss/cross_entropy.hpp>
#include <precast/cuda/loss/mean_squared_error.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/loss/loss.hpp>
#endif
