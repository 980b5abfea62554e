// Rotary embeddings of either pair layout, and their inverse, on this translation unit's backend.
#pragma once

#include <precast/problem/position_kernels.hpp>

#if PRECAST_HOLDS_KERNELS && PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/position/rotation.hpp>
#elif PRECAST_HOLDS_KERNELS
#include <precast/host/position/rotary.hpp>
#endif
