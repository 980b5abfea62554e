// OwnStream: a stream that ends, with all that belongs to it.
#pragma once

#include <precast/cuda/runtime/stream.hpp>
#include <precast/cuda/runtime/stream_resources.hpp>

#if !PRECAST_CUDA_IS_EMULATED
#include <precast/cuda/runtime/check.hpp>
#endif

namespace precast::cuda {

/// A stream of its own, which graphs need, for as long as it lives: the current one of the thread meanwhile.
/// Its end waits for its work and gives its resources back (resource_of).
class OwnStream {
 public:
  OwnStream() : stream_(made()), scope_(stream_) {}
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  ~OwnStream() {
#if PRECAST_CUDA_IS_EMULATED
    simt::finish_stream(stream_);
#else
    (void)cudaStreamSynchronize(stream_);
#endif
    detail::StreamResources::instance().end(stream_);
#if PRECAST_CUDA_IS_EMULATED
    simt::end_stream(stream_);
#else
    (void)cudaStreamDestroy(stream_);
#endif
  }

 private:
  static Stream made() {
#if PRECAST_CUDA_IS_EMULATED
    return simt::make_stream();
#else
    Stream stream{};
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "make a stream");
    return stream;
#endif
  }

  Stream stream_;
  StreamScope scope_;
};

}  // namespace precast::cuda
