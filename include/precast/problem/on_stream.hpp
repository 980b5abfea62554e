// PRECAST_ON_STREAM: how declarations of kernels end, which are the same text for both backends: on a device
// with the stream, the current one unless the caller says otherwise.
#pragma once

#include <precast/backend.hpp>

#if PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/runtime/context.hpp>
#define PRECAST_ON_STREAM , Stream stream = current_stream()
#else
#define PRECAST_ON_STREAM
#endif
