// An optimiser's step, on this translation unit's backend.
#pragma once

#include <precast/problem/optimiser_kernels.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/optimiser/adamw.hpp>
#include <precast/cuda/optimiser/gradient_sums.hpp>
#include <precast/cuda/optimiser/values.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/optimiser/optimiser.hpp>
#endif
