#include <algorithm>
#include <cstring>

#include <simt/pointer.hpp>
#include <simt/runtime/async_proxy.hpp>
#include <simt/runtime/fiber.hpp>
#include <simt/runtime/machine.hpp>

thread_local constinit bool simt::detail::notes_writes = false;

namespace simt {

void detail::note_write(const void* address, std::size_t bytes) {
  auto& machine = runtime::machine();
  machine.async_proxy().note_write(machine.thread().index, address, bytes);
}

namespace runtime {

void AsyncProxy::start_block(int threads) {
  begun_ = false;
  threads_ = threads;
  detail::notes_writes = false;
}

void AsyncProxy::begin() {
  if (begun_) return;
  const Unseen unseen;
  begun_ = true;
  const std::size_t bytes = shared_.capacity();
  view_.assign(bytes, 0xff);
  has_writer_.assign(bytes, 0);
  written_.assign(static_cast<std::size_t>(threads_), {});
  has_fenced_.assign(static_cast<std::size_t>(threads_), 0);
  fenced_ = 0;
  detail::notes_writes = true;
}

void AsyncProxy::note_write(int thread, const void* address, std::size_t bytes) {
  const Unseen unseen;
  const std::size_t first = shared_.offset(address), end = first + bytes;
  std::fill(has_writer_.begin() + static_cast<std::ptrdiff_t>(first),
            has_writer_.begin() + static_cast<std::ptrdiff_t>(end), char{1});
  auto& ranges = written_[static_cast<std::size_t>(thread)];
  if (!ranges.empty() && ranges.back().first <= first && first <= ranges.back().end)
    ranges.back().end = std::max(ranges.back().end, end);
  else
    ranges.push_back({first, end});
}

void AsyncProxy::hand_over(const Range& range) {
  std::memcpy(view_.data() + range.first, shared_.dynamic() + range.first, range.end - range.first);
}

void AsyncProxy::fence(int thread) {
  begin();
  const Unseen unseen;
  auto& ranges = written_[static_cast<std::size_t>(thread)];
  for (const Range& range : ranges) hand_over(range);
  ranges.clear();
  char& has_fenced = has_fenced_[static_cast<std::size_t>(thread)];
  if (has_fenced) return;
  has_fenced = 1;
  if (++fenced_ < threads_) return;
  for (std::size_t i = 0; i < view_.size(); ++i)
    if (!has_writer_[i]) hand_over({i, i + 1});
}

void AsyncProxy::write(std::size_t offset, const void* from, std::size_t bytes) {
  const Unseen unseen;
  std::memcpy(shared_.dynamic() + offset, from, bytes);
  std::memcpy(view_.data() + offset, from, bytes);
  std::fill_n(has_writer_.begin() + static_cast<std::ptrdiff_t>(offset), bytes, char{1});
}

}  // namespace runtime

}  // namespace simt
