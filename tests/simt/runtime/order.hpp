// What is ordered before what: a clock for each stream, and for each block of memory who touched it last.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <simt/stream.hpp>

namespace simt::runtime {

/// Something that a stream did.
struct Deed {
  int stream = 0;
  std::uint64_t time = 0;  ///< of the stream: its time-th piece of work
  std::string name;
};

constexpr std::uint64_t time_of(const Clock& clock, int stream) {
  return static_cast<std::size_t>(stream) < clock.size() ? clock[static_cast<std::size_t>(stream)] : 0;
}

/// Happens-before for streams (vector clocks: Mattern 1989). Host threads are one: work that somebody has
/// waited for is over for all. Any thread may call.
class Order {
 public:
  static Order& instance();

  Stream make_stream(bool blocking);
  void end(Stream stream) noexcept;
  /// The clock of the stream's next piece of work, which comes after all earlier ones and after what the host
  /// has waited for.
  Clock next(Stream stream, const char* name);
  Clock event(Stream stream);
  void wait(Stream stream, const Clock& event);
  void host_waits(const Clock& event);
  /// Everything that any stream has been given.
  Clock everything();
  Clock host() const;

  void record(Stream stream, bool on);
  bool is_recording(Stream stream);
  /// Throws NotRecordable where the stream, or with -1 any, records a graph.
  void refuse_while_recording(int stream, const char* what);

  void allocated(const void* block, std::size_t bytes, Stream stream);
  /// Does not throw: what is wrong is kept for throw_pending.
  void freed(const void* block, Stream stream) noexcept;
  /// Work of this clock on this stream touches memory. What does not lie in a block of the device is left
  /// out.
  void touch(const char* name, Stream stream, const Clock& clock, const void* at, std::size_t bytes,
             bool writes);
  /// Throws what could not be thrown where it happened.
  void throw_pending();

 private:
  struct StreamState {
    Clock clock;
    bool blocking = false, ended = false, recording = false;
    std::uint64_t recording_since = 0;  ///< events of that time of its own, and later ones, are of the graph
  };
  struct Block {
    std::size_t bytes = 0;
    Deed allocated, written, freed;
    std::vector<Deed> read;  ///< the last time by each stream
    bool is_freed = false;
  };

  Order();
  ~Order();
  StreamState& state(Stream stream) { return streams_[static_cast<std::size_t>(stream.number)]; }
  /// The stream's time goes on by one, to what is returned.
  std::uint64_t tick(Stream stream);
  /// Joins into the stream's clock what it waits for by itself.
  void catch_up(Stream stream);
  void check(const Block& block, const Deed& deed, const Clock& clock, const char* doing, bool writes) const;

  mutable std::mutex mutex_;
  std::vector<StreamState> streams_;
  Clock host_;
  std::map<std::uintptr_t, Block> blocks_;
  std::string pending_;
};

}  // namespace simt::runtime
