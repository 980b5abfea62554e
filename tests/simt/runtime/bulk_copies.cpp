#include <algorithm>
#include <cstring>

#include <simt/errors.hpp>
#include <simt/mbarrier.hpp>
#include <simt/runtime/bulk_copies.hpp>
#include <simt/runtime/machine.hpp>

namespace simt::runtime {

namespace {

constexpr std::uint64_t mark = 0x726569727261626d;  // what the 8 bytes of a barrier hold
constexpr int most_arrivals = (1 << 20) - 1, most_bytes = (1 << 20) - 1;
constexpr std::size_t chunk = 16;

std::string counted(std::int64_t count, const char* of) {
  return std::to_string(count) + " " + of + (count == 1 ? "" : "s");
}

/// Bytes `first` to `first + chunk` of the row of a box that starts at `at`, with zeros where the tensor has
/// none.
void gather(const TensorMap& from, const std::array<std::int64_t, 4>& at, unsigned char (&to)[chunk]) {
  std::memset(to, 0, chunk);
  for (std::size_t d = 1; d < 4; ++d)
    if (at[d] < 0 || at[d] >= from.sizes[d]) return;
  const std::byte* row = from.data;
  for (std::size_t d = 1; d < 4; ++d) row += at[d] * from.strides[d - 1];
  const auto bytes = static_cast<std::int64_t>(from.value_bytes);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(chunk) / bytes; ++i)
    if (const std::int64_t column = at[0] + i; column >= 0 && column < from.sizes[0])
      std::memcpy(to + i * bytes, row + column * bytes, from.value_bytes);
}

}  // namespace

void BulkCopies::start_block() {
  barriers_.clear();
  under_way_.clear();
}

void BulkCopies::end_block() const {
  if (!under_way_.empty())
    throw Unfinished(machine_.place(), "the block has ended, and " + counted(std::ssize(under_way_), "copy") +
                                           " to its shared memory still in flight");
}

PhasedBarrier& BulkCopies::barrier(const void* at, const std::string& doing) {
  const auto found = barriers_.find(machine_.shared().offset(at));
  if (found == barriers_.end())
    throw BadArgument(machine_.place(), doing + ": no barrier has been made at byte " +
                                            std::to_string(machine_.shared().offset(at)) +
                                            " of shared memory");
  std::uint64_t held = 0;
  std::memcpy(&held, at, sizeof held);
  if (held != mark)
    throw BadArgument(machine_.place(),
                      doing + ": the " + describe_barrier(found->first) + " has been written over");
  return found->second;
}

std::string BulkCopies::describe_barrier(std::size_t offset) const {
  const PhasedBarrier& barrier = barriers_.at(offset);
  return "barrier at byte " + std::to_string(offset) + ", in phase " + std::to_string(barrier.phase) +
         ", which waits for " + counted(barrier.pending, "arrival") + " and " +
         counted(barrier.bytes, "byte");
}

void BulkCopies::init(const void* at, int arrivals) {
  machine_.async_proxy().begin();
  if (arrivals < 1 || arrivals > most_arrivals)
    throw BadArgument(machine_.place(), "makes a barrier for " + std::to_string(arrivals) +
                                            " arrivals; it takes 1 to " + std::to_string(most_arrivals));
  const Unseen unseen;
  std::memcpy(const_cast<void*>(at), &mark, sizeof mark);
  barriers_[machine_.shared().offset(at)] = {arrivals, arrivals, 0, 0, machine_.thread().index};
}

void BulkCopies::end_phase_if_complete(std::size_t offset, PhasedBarrier& barrier) {
  if (barrier.pending > 0 || barrier.bytes != 0) return;
  barrier.pending = barrier.arrivals;
  ++barrier.phase;
  machine_.wake_waiting(Kind::wait_parity, static_cast<int>(offset));
}

void BulkCopies::arrive(const void* at, int bytes, const std::string& doing) {
  const Unseen unseen;
  PhasedBarrier& of = barrier(at, doing);
  if (bytes < 0 || bytes > most_bytes)
    throw BadArgument(machine_.place(), doing + ": it announces 0 to " + std::to_string(most_bytes) +
                                            " bytes, not " + std::to_string(bytes));
  const std::size_t offset = machine_.shared().offset(at);
  if (of.pending == 0)
    throw BadArgument(machine_.place(), doing + ": all have arrived at the " + describe_barrier(offset));
  sanitizer_release(&of.token);
  of.bytes += bytes;
  --of.pending;
  end_phase_if_complete(offset, of);
}

void BulkCopies::wait(const void* at, int parity, const Site& site) {
  const std::string doing = "is at " + describe(Kind::wait_parity, site);
  const std::size_t offset = machine_.shared().offset(at);
  PhasedBarrier& of = barrier(at, doing);
  if (parity != 0 && parity != 1)
    throw BadArgument(machine_.place(), doing + ": a parity is 0 or 1, not " + std::to_string(parity));
  // Asked again by whoever was woken: the phase after may be complete by then, as it may be on a device.
  while (of.phase % 2 == parity)
    machine_.wait_to_be_woken({Kind::wait_parity, site, 0, static_cast<int>(offset), 0});
  sanitizer_acquire(&of.token);
}

void BulkCopies::fence(int thread) {
  for (auto& [offset, of] : barriers_)
    if (of.made_by == thread) of.seen_by_copies = true;
}

void BulkCopies::start(const TensorMap& from, const std::array<int, 4>& at, const void* to,
                       const void* barrier_at) {
  const Unseen unseen;
  if (!barrier(barrier_at, "starts a copy").seen_by_copies)
    throw BadArgument(machine_.place(),
                      "starts a copy for a barrier that copies do not see: fence_async_proxy() is "
                      "missing in the thread that made it");
  detail::touch(from.data, 1, false);
  const Copy copy{from, at, machine_.shared().offset(to), machine_.shared().offset(barrier_at)};
  if (machine_.options().copies == Copies::early) {
    land(copy);
    return;
  }
  // While it is in flight, nobody knows what is there.
  const std::vector<unsigned char> unknown(static_cast<std::size_t>(from.box_bytes()), 0xff);
  machine_.async_proxy().write(copy.to, unknown.data(), unknown.size());
  under_way_.push_back(copy);
}

bool BulkCopies::land_one() {
  if (under_way_.empty()) return false;
  const Unseen unseen;
  std::swap(under_way_[machine_.random().below(under_way_.size())], under_way_.back());
  const Copy copy = under_way_.back();
  under_way_.pop_back();
  land(copy);
  return true;
}

void BulkCopies::land(const Copy& copy) {
  const TensorMap& from = copy.from;
  const int values = static_cast<int>(chunk / from.value_bytes);
  auto place = static_cast<std::uint32_t>(copy.to + SharedMemory::first_address);
  for (int w = 0; w < from.box[3]; ++w)
    for (int z = 0; z < from.box[2]; ++z)
      for (int y = 0; y < from.box[1]; ++y)
        for (int x = 0; x < from.box[0]; x += values, place += chunk) {
          unsigned char bytes[chunk];
          gather(from, {copy.at[0] + x, copy.at[1] + y, copy.at[2] + z, copy.at[3] + w}, bytes);
          machine_.async_proxy().write(swizzled(from.swizzle, place) - SharedMemory::first_address, bytes,
                                       chunk);
        }
  PhasedBarrier& of = barriers_.at(copy.barrier);
  sanitizer_release(&of.token);
  of.bytes -= from.box_bytes();
  end_phase_if_complete(copy.barrier, of);
}

}  // namespace simt::runtime

namespace simt {

using runtime::machine;

void detail::init_mbarrier(const void* at, int arrivals) { machine().bulk_copies().init(at, arrivals); }

void detail::arrive(Kind kind, const void* at, int bytes, Site site) {
  auto& m = machine();
  if (!m.visit(kind, site)) m.bulk_copies().arrive(at, bytes, "is at " + describe(kind, site));
}

void detail::wait_parity(const void* at, int parity, Site site) {
  auto& m = machine();
  if (!m.visit(Kind::wait_parity, site)) m.bulk_copies().wait(at, parity, site);
}

void fence_async_proxy(Site site) {
  auto& m = machine();
  if (m.visit(Kind::fence_async_proxy, site)) return;
  m.async_proxy().fence(m.thread().index);
  m.bulk_copies().fence(m.thread().index);
}

void detail::tma_load(const TensorMap& from, const std::array<int, 4>& at, const void* to,
                      const void* barrier) {
  machine().bulk_copies().start(from, at, to, barrier);
}

}  // namespace simt
