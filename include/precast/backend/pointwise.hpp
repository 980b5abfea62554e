// Functions of values, on this translation unit's backend.
#pragma once

#include <precast/backend/backend.hpp>

#if PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/kernels.hpp>
#else
#include <precast/host/row_map.hpp>
#endif
