#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include <simt/runtime/order.hpp>

namespace simt::runtime {

namespace {

void join(Clock& into, const Clock& other) {
  if (into.size() < other.size()) into.resize(other.size());
  for (std::size_t i = 0; i < other.size(); ++i) into[i] = std::max(into[i], other[i]);
}

std::string name_of(int stream) {
  return stream == 0 ? "the default stream" : "stream " + std::to_string(stream);
}

bool is_before(const Deed& deed, const Clock& clock) { return deed.time <= time_of(clock, deed.stream); }

/// "kernel double on stream 2 reads".
std::string saying(const Deed& deed, const char* verb) {
  return deed.name + " on " + name_of(deed.stream) + " " + verb;
}

}  // namespace

Order& Order::instance() {
  static Order order;
  return order;
}

Order::Order() : streams_(1) { streams_[0].blocking = true; }

Order::~Order() {
  if (pending_.empty()) return;
  // The last thing that the program did was wrong, and nobody came to hear of it.
  std::fprintf(stderr, "emulator: %s\n", pending_.c_str());
  std::_Exit(1);
}

Stream Order::make_stream(bool blocking) {
  const std::lock_guard lock(mutex_);
  streams_.emplace_back().blocking = blocking;
  return {static_cast<int>(streams_.size()) - 1};
}

void Order::end(Stream stream) noexcept {
  const std::lock_guard lock(mutex_);
  state(stream).ended = true;
}

std::uint64_t Order::tick(Stream stream) {
  Clock& clock = state(stream).clock;
  const auto number = static_cast<std::size_t>(stream.number);
  if (clock.size() <= number) clock.resize(number + 1);
  return ++clock[number];
}

void Order::catch_up(Stream stream) {
  StreamState& mine = state(stream);
  join(mine.clock, host_);
  if (stream.number == 0) {
    for (std::size_t other = 1; other < streams_.size(); ++other)
      if (streams_[other].blocking) join(mine.clock, streams_[other].clock);
  } else if (mine.blocking) {
    join(mine.clock, streams_[0].clock);
  }
}

Clock Order::next(Stream stream, const char* name) {
  const std::lock_guard lock(mutex_);
  if (state(stream).ended)
    throw Unordered(std::string(name) + " is given to " + name_of(stream.number) + ", which has ended");
  catch_up(stream);
  tick(stream);
  return state(stream).clock;
}

Clock Order::event(Stream stream) {
  const std::lock_guard lock(mutex_);
  catch_up(stream);
  return state(stream).clock;
}

void Order::wait(Stream stream, const Clock& event) {
  const std::lock_guard lock(mutex_);
  StreamState& mine = state(stream);
  if (mine.recording && time_of(event, stream.number) < mine.recording_since)
    throw NotRecordable("an event that was recorded outside of the graph is waited for while " +
                        name_of(stream.number) + " records it");
  join(mine.clock, event);
}

void Order::host_waits(const Clock& event) {
  const std::lock_guard lock(mutex_);
  join(host_, event);
}

Clock Order::everything() {
  const std::lock_guard lock(mutex_);
  Clock all = host_;
  for (const StreamState& stream : streams_) join(all, stream.clock);
  return all;
}

Clock Order::host() const {
  const std::lock_guard lock(mutex_);
  return host_;
}

void Order::record(Stream stream, bool on) {
  const std::lock_guard lock(mutex_);
  StreamState& mine = state(stream);
  mine.recording = on;
  if (on) mine.recording_since = tick(stream);
}

bool Order::is_recording(Stream stream) {
  const std::lock_guard lock(mutex_);
  return state(stream).recording;
}

void Order::refuse_while_recording(int stream, const char* what) {
  const std::lock_guard lock(mutex_);
  for (std::size_t s = 0; s < streams_.size(); ++s)
    if (streams_[s].recording && (stream < 0 || s == static_cast<std::size_t>(stream)))
      throw NotRecordable(std::string(what) + " while " + name_of(static_cast<int>(s)) + " records a graph");
}

void Order::allocated(const void* block, std::size_t bytes, Stream stream) {
  const Clock clock = next(stream, "an allocation");
  const std::lock_guard lock(mutex_);
  const auto begin = reinterpret_cast<std::uintptr_t>(block);
  // What lay here is forgotten: the pool sees to it that the memory is free when it gives it to a stream.
  auto at = blocks_.upper_bound(begin);
  if (at != blocks_.begin())
    if (const auto before = std::prev(at); before->first + before->second.bytes > begin) at = before;
  while (at != blocks_.end() && at->first < begin + bytes) at = blocks_.erase(at);
  Block& made = blocks_[begin];
  made.bytes = bytes;
  made.allocated = {stream.number, time_of(clock, stream.number), "the allocation"};
}

void Order::freed(const void* block, Stream stream) noexcept {
  try {
    const Clock clock = next(stream, "the end of memory");
    touch("the end of memory", stream, clock, block, 1, true);
  } catch (const Unordered& error) {
    const std::lock_guard lock(mutex_);
    if (pending_.empty()) pending_ = error.what();
  }
  const std::lock_guard lock(mutex_);
  const auto at = blocks_.find(reinterpret_cast<std::uintptr_t>(block));
  if (at == blocks_.end()) return;
  at->second.is_freed = true;
  at->second.freed = {stream.number, 0, "the end"};
}

void Order::check(const Block& block, const Deed& deed, const Clock& clock, const char* doing,
                  bool writes) const {
  const auto fail = [&](const Deed& other, const char* verb) {
    throw Unordered(saying(deed, doing) + " memory that " + saying(other, verb) +
                    ", and nothing says which comes first: " + std::to_string(block.bytes) +
                    " bytes, allocated on " + name_of(block.allocated.stream));
  };
  if (!is_before(block.allocated, clock)) fail(block.allocated, "makes");
  if (!block.written.name.empty() && !is_before(block.written, clock)) fail(block.written, "writes");
  if (!writes) return;
  for (const Deed& read : block.read)
    if (!is_before(read, clock)) fail(read, "reads");
}

void Order::touch(const char* name, Stream stream, const Clock& clock, const void* at, std::size_t bytes,
                  bool writes) {
  if (bytes == 0) return;
  const std::lock_guard lock(mutex_);
  const auto first = reinterpret_cast<std::uintptr_t>(at);
  auto found = blocks_.upper_bound(first);
  if (found == blocks_.begin()) return;
  --found;
  Block& block = found->second;
  if (first >= found->first + block.bytes) return;
  Deed deed{stream.number, time_of(clock, stream.number), name};
  if (block.is_freed)
    throw Unordered(saying(deed, writes ? "writes" : "reads") + " memory that was freed on " +
                    name_of(block.freed.stream) + " before: " + std::to_string(block.bytes) +
                    " bytes, allocated on " + name_of(block.allocated.stream));
  check(block, deed, clock, writes ? "writes" : "reads", writes);
  if (writes) {
    block.written = std::move(deed);
    return;
  }
  for (Deed& read : block.read)
    if (read.stream == stream.number) {
      read = std::move(deed);
      return;
    }
  block.read.push_back(std::move(deed));
}

void Order::throw_pending() {
  std::string message;
  {
    const std::lock_guard lock(mutex_);
    message = std::exchange(pending_, {});
  }
  if (!message.empty()) throw Unordered(message);
}

}  // namespace simt::runtime
