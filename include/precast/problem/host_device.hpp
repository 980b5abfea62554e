// PRECAST_HOST_DEVICE: a small function that both backends call, inlined wherever it stands. On the host,
// since a call that the compiler keeps in a large file costs its loop the vectors, 20 times the time.
#pragma once

#if defined(__CUDACC__)
#define PRECAST_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define PRECAST_HOST_DEVICE inline __attribute__((always_inline))
#endif
