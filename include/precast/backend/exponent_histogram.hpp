// Histograms of exponents, on this translation unit's backend.
#pragma once

#include <precast/problem/exponent_histogram.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/reduction/exponent_histogram.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/reduction/exponent_histogram.hpp>
#endif
