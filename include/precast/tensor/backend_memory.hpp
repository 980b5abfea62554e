// The memory that this translation unit's ops work in.
#pragma once

#include <precast/backend.hpp>

#if PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/runtime/device_memory.hpp>
#else
#include <precast/memory/memory.hpp>
#endif
