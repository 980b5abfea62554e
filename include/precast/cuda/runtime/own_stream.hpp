// OwnStream: a stream with a lifetime, and the resources that end with it.
#pragma once

#include <precast/cuda/runtime/stream.hpp>
#include <precast/cuda/runtime/stream_resources.hpp>

namespace precast::gpu {

/// Makes a stream, which graphs need, and makes it the thread's current one while this lives. The
/// destructor waits for its work and releases its resources (resource_of). The stream itself lives until
/// all memory taken on it has been freed, which may be later, and its end waits for work given since.
class OwnStream {
 public:
  OwnStream() : OwnStream(Held<const Owned>(new Owned)) {}
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  ~OwnStream() { finish(context_.stream); }

  /// The context for ops that take one. Other threads may use it too, if their current device is the
  /// stream's (use_device). It keeps the stream alive.
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
  /// Waits before it releases the stream's resources: the work reads pinned memory among them.
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
