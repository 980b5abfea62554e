// Every kernel that ops call, under the names and signatures that the host's have: the kernels themselves
// where nvcc or the emulator compiles them, declarations for a host compiler that links to nvcc's.
#pragma once

#include <precast/cuda/declarations.hpp>

#if defined(__CUDACC__) || !defined(PRECAST_USE_CUDA)
#include <precast/cuda/attention/flash_attention.hpp>
#include <precast/cuda/attention/plain_attention.hpp>
#include <precast/cuda/conv/conv.hpp>
#include <precast/cuda/embedding/embedding.hpp>
#include <precast/cuda/matmul/matmul.hpp>
#include <precast/cuda/matmul/transpose.hpp>
#include <precast/cuda/norm/group_norm.hpp>
#include <precast/cuda/norm/layer_norm.hpp>
#include <precast/cuda/norm/rms_norm.hpp>
#include <precast/cuda/pointwise/convert_values.hpp>
#include <precast/cuda/pointwise/map_values.hpp>
#include <precast/cuda/position/rotary.hpp>
#include <precast/cuda/position/timestep_embedding.hpp>
#include <precast/cuda/reduction/extremes.hpp>
#include <precast/cuda/resample/upsample_nearest.hpp>
#include <precast/cuda/softmax/softmax.hpp>
#endif
