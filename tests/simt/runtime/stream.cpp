#include <algorithm>
#include <iterator>

#include <simt/pointer.hpp>
#include <simt/runtime/order.hpp>
#include <simt/runtime/transfer.hpp>
#include <simt/stream.hpp>

namespace simt {

using runtime::Order;

namespace {

thread_local constinit const StreamWork* running = nullptr;

}  // namespace

thread_local constinit std::uintptr_t detail::touched_lines[1024] = {};

void detail::note_touch(const void* address, std::size_t bytes, bool writes) {
  if (running)
    Order::instance().touch(running->name(), running->stream(), running->clock(), address, bytes, writes);
  const std::uintptr_t line = reinterpret_cast<std::uintptr_t>(address) >> line_bits;
  touched_lines[line % std::size(touched_lines)] = line << 1 | static_cast<std::uintptr_t>(writes);
}

Stream make_stream() { return Order::instance().make_stream(false); }
Stream make_blocking_stream() { return Order::instance().make_stream(true); }
void end_stream(Stream stream) noexcept { Order::instance().end(stream); }

void begin_recording(Stream stream) { Order::instance().record(stream, true); }
void end_recording(Stream stream) noexcept { Order::instance().record(stream, false); }
bool is_recording(Stream stream) { return Order::instance().is_recording(stream); }

StreamWork::StreamWork(const char* name, Stream stream) : name_(name), stream_(stream) {
  Order::instance().throw_pending();
  clock_ = Order::instance().next(stream, name);
  runtime::land_uploads(clock_);
  runtime::check_uploads();
  runtime::open_device();
  running = this;
  std::fill(std::begin(detail::touched_lines), std::end(detail::touched_lines), 0);
}
StreamWork::~StreamWork() {
  running = nullptr;
  runtime::close_device();
}

void StreamWork::reads(const void* data, std::size_t bytes) const {
  Order::instance().touch(name_, stream_, clock_, data, bytes, false);
}
void StreamWork::writes(void* data, std::size_t bytes) const {
  Order::instance().touch(name_, stream_, clock_, data, bytes, true);
}

}  // namespace simt
