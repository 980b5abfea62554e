// OwnStream: a stream that ends, with all that belongs to it.
#pragma once

#include <precast/cuda/runtime/stream.hpp>
#include <precast/cuda/runtime/stream_resources.hpp>

namespace precast::gpu {

/// A stream of its own, which graphs need: the current one of the thread for as long as this lives. Its end
/// waits for its work and gives its resources back (resource_of). The stream itself is there until the last
/// memory that it took has been given back to it, which may be later, and waits for what it was given since.
class OwnStream {
 public:
  OwnStream() : OwnStream(Held<const Owned>(new Owned)) {}
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  ~OwnStream() { finish(context_.stream); }

  /// For ops that are given their context, in other threads too, whose current device is the one that the
  /// stream was made on (use_device). It keeps the stream alive.
  const Context& context() const { return context_; }

 private:
  struct Owned final : Holdable {
    Stream stream = made();
    ~Owned() override {
      finish(stream);  // whoever has the context may have given it more
#if PRECAST_CUDA_IS_EMULATED
      simt::end_stream(stream);
#else
      (void)cudaStreamDestroy(stream);
#endif
    }
  };
  /// Its work reads pinned memory among its resources.
  static void finish(Stream stream) noexcept {
#if PRECAST_CUDA_IS_EMULATED
    simt::finish_stream(stream);
#else
    (void)cudaStreamSynchronize(stream);
#endif
    release_resources_of(stream);
  }
  static Stream made() {
#if PRECAST_CUDA_IS_EMULATED
    return simt::make_stream();
#else
    Stream stream{};
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "make a stream");
    return stream;
#endif
  }

  explicit OwnStream(const Held<const Owned>& owned)
      : context_{owned->stream, current_context().memory, owned}, scope_(context_) {}

  Context context_;
  ContextScope scope_;
};

}  // namespace precast::gpu
