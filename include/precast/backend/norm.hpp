// Norms, softmax and position embeddings, on this translation unit's backend.
#pragma once

#include <precast/backend/backend.hpp>

#if PRECAST_BACKEND_IS_CUDA
#include <precast/cuda/kernels.hpp>
#else
#include <precast/host/group_norm.hpp>
#include <precast/host/norm.hpp>
#include <precast/host/position.hpp>
#include <precast/host/softmax.hpp>
#endif
