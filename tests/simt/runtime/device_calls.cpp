// What kernels call, as far as it is no template.
#include <cstdlib>
#include <memory>

#include <cxxabi.h>
#include <simt/barrier.hpp>
#include <simt/cp_async.hpp>
#include <simt/fault.hpp>
#include <simt/memory.hpp>
#include <simt/pointer.hpp>
#include <simt/runtime/machine.hpp>
#include <simt/thread.hpp>

namespace simt {

using runtime::machine;

void launch(const char* kernel, const Grid& grid, const std::function<void()>& thread) {
  thread_local runtime::Machine machine;  // keeps its stacks
  machine.launch(kernel, grid, thread);
}

int thread_index() { return machine().thread().index; }
int threads_in_block() { return machine().grid().threads; }
std::array<int, 3> block_index() { return machine().block(); }
std::array<int, 3> grid_size() { return machine().grid().blocks; }
bool detail::ask_whether_planted(const char* name) { return machine().has_fault(name); }

void sync_block(Site site) {
  auto& m = machine();
  if (!m.visit(Kind::sync_block, site)) m.meet_at_barrier({Kind::sync_block, site, 0, 0, m.grid().threads});
}

void sync_named(int barrier, int threads, Site site) {
  auto& m = machine();
  if (barrier < 1 || barrier > 15)
    throw BadArgument(m.place(), "is at " + describe(Kind::sync_named, site) +
                                     ": barriers are 1 to 15, not " + std::to_string(barrier));
  if (threads < 1 || threads % runtime::warp_size != 0 || threads > m.grid().threads)
    throw BadArgument(m.place(), "is at " + describe(Kind::sync_named, site) +
                                     ": it takes whole warps of the block, not " + std::to_string(threads) +
                                     " threads");
  if (!m.visit(Kind::sync_named, site)) m.meet_at_barrier({Kind::sync_named, site, 0, barrier, threads});
}

void sync_warp(unsigned lanes, Site site) {
  auto& m = machine();
  if (!m.visit(Kind::sync_warp, site))
    m.meet_in_warp({Kind::sync_warp, site, lanes, 0, 0}, nullptr, true, nullptr);
}

void fence_block(Site site) { machine().visit(Kind::fence_block, site); }
void fence_device(Site site) { machine().visit(Kind::fence_device, site); }

void cp_async_commit(Site site) {
  auto& m = machine();
  if (!m.visit(Kind::cp_async_commit, site)) ++m.thread().groups;
}

namespace detail {

void cp_async_wait(int groups, Site site) {
  auto& m = machine();
  if (!m.visit(Kind::cp_async_wait, site)) m.land_copies(m.thread(), m.thread().groups - groups);
}

void check_valid_bytes(int bytes, int valid) {
  if (valid < 0 || valid > bytes)
    throw BadArgument(machine().place(),
                      "copies " + std::to_string(valid) + " valid bytes of " + std::to_string(bytes));
}

void start_copy(void* to, const void* from, int bytes, int valid) {
  auto& m = machine();
  auto& thread = m.thread();
  {
    const runtime::Unseen unseen;
    thread.copies.push_back({to, from, bytes, valid, thread.groups});
  }
  if (m.options().copies == Copies::early) m.land_copies(thread, thread.groups + 1);
}

std::uint32_t shared_address(const void* address) {
  return static_cast<std::uint32_t>(machine().shared().offset(address) +
                                    runtime::SharedMemory::first_address);
}

void* static_shared(const std::type_info& use, std::size_t bytes) {
  auto& m = machine();
  void* const array = [&] {
    const runtime::Unseen unseen;
    return m.shared().static_array(use, bytes);
  }();
  if (!array)
    throw SharedMemoryExceeded(m.place(), "asks for " + std::to_string(bytes) +
                                              " bytes of static_shared after " +
                                              std::to_string(m.shared().static_bytes()) + "; a kernel has " +
                                              std::to_string(runtime::SharedMemory::static_limit));
  return array;
}

void* dynamic_shared(std::size_t offset, std::size_t bytes, std::size_t alignment) {
  auto& m = machine();
  const std::size_t there = m.shared().dynamic_bytes();
  if (offset > there || bytes > there - offset)
    throw SharedMemoryExceeded(
        m.place(), "asks for bytes " + std::to_string(offset) + " to " + std::to_string(offset + bytes) +
                       " of dynamic_shared; the launch asked for " + std::to_string(there));
  if (offset % 16 != 0 || offset % alignment != 0)
    throw Misaligned(m.place(), "asks for dynamic_shared from byte " + std::to_string(offset) +
                                    " on, which is not a multiple of 16");
  return m.shared().dynamic() + offset;
}

}  // namespace detail

Error::Error(Place where, const std::string& message)
    : std::runtime_error([&] {
        const auto [x, y, z] = where.block;
        std::string text = "kernel " + where.kernel + ", block (" + std::to_string(x) + ", " +
                           std::to_string(y) + ", " + std::to_string(z) + ")";
        if (where.thread >= 0)
          text += ", thread " + std::to_string(where.thread) + " (warp " +
                  std::to_string(where.thread / runtime::warp_size) + ", lane " +
                  std::to_string(where.thread % runtime::warp_size) + ")";
        return text + ": " + message;
      }()),
      place(std::move(where)) {}

namespace {

std::string describe(const Access& access) {
  std::string text = std::to_string(access.values) + (access.values == 1 ? " value" : " values") + " of " +
                     std::to_string(access.size) + " bytes at index " + std::to_string(access.index) + " of ";
  text += access.array ? access.array : "an array";
  text += access.space == Space::shared ? " in shared memory" : " in global memory";
  return text + ", which has " + std::to_string(access.count);
}

}  // namespace

void fail_out_of_bounds(const Access& access) {
  if (access.count == 0 && access.index == 0 && !access.address)
    throw OutOfBounds(machine().place(), "accesses a null pointer");
  throw OutOfBounds(machine().place(), "out of bounds: " + describe(access));
}

void fail_misaligned(const Access& access, std::size_t alignment) {
  throw Misaligned(machine().place(), "misaligned: " + describe(access) +
                                          ": the address is not a multiple of " + std::to_string(alignment));
}

}  // namespace simt
