// Streams of the emulated device. Work runs at once, when it is given to a stream; what is checked is that
// the program would be right if streams ran as far apart as they may.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace simt {

/// A stream by its number. 0 is the default stream, which waits for blocking streams and they for it.
struct Stream {
  int number = 0;
  friend constexpr auto operator<=>(const Stream&, const Stream&) = default;
};
/// A stream that is no other. It waits for nobody (cudaStreamNonBlocking), or only for the default stream.
Stream make_stream();
Stream make_blocking_stream();
/// Nothing may be given to the stream any more. What it was given goes on.
void end_stream(Stream stream) noexcept;

/// Two streams touch the same memory, and nothing says which of them does it first: the message names both,
/// what they do and the memory. Also: memory that is freed, and a stream that has ended. Thrown where the
/// later of the two is started; by whatever the program does next where that may not throw.
struct Unordered : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// What cannot be recorded as part of a graph, asked of a stream that records one.
struct NotRecordable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// How much of each stream's work is known to be over, by number of the stream.
using Clock = std::vector<std::uint64_t>;

/// All that the stream has been given so far.
Clock record_event(Stream stream);
/// The stream's next work comes after that. Free for the host.
void wait_for_event(Stream stream, const Clock& event);
/// The host waits: all of its work from now on, for any stream, comes after that.
void wait_for_event(const Clock& event);
void wait_for_stream(Stream stream);
void wait_for_device();
/// The same where nothing may be thrown: what is wrong is told later.
void finish_stream(Stream stream) noexcept;

/// Whether the stream records a graph. Work is done all the same; waits of the host for it, copies to the
/// host, and its waits for events that were recorded before, or on a stream that has not waited for it since,
/// are NotRecordable (cudaErrorStreamCaptureIsolation).
void begin_recording(Stream stream);
void end_recording(Stream stream) noexcept;
bool is_recording(Stream stream);

/// One piece of work of a stream: a kernel, a copy, or what stands in for them. While it lives, this thread
/// reaches the device's memory, in which all earlier uploads of the stream have landed; kernels say by
/// themselves what they touch.
class StreamWork {
 public:
  /// `name` must outlive it. Throws Unordered.
  StreamWork(const char* name, Stream stream);
  ~StreamWork();
  StreamWork(const StreamWork&) = delete;
  StreamWork& operator=(const StreamWork&) = delete;

  /// Says what work that is no kernel touches. Throw Unordered.
  void reads(const void* data, std::size_t bytes) const;
  void writes(void* data, std::size_t bytes) const;

  const char* name() const { return name_; }
  Stream stream() const { return stream_; }
  const Clock& clock() const { return clock_; }

 private:
  const char* name_;
  Stream stream_;
  Clock clock_;
};

}  // namespace simt
