// Kernels with and without a race, which ThreadSanitizer must tell apart: `kernels NAME` runs one.
#include <cstring>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <precast/cuda/device/cp_async.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/mbarrier.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/mma.hpp>
#include <precast/cuda/device/thread.hpp>

using namespace precast;
using namespace precast::gpu;

namespace {

constexpr int threads = 64, blocks = 3, values = threads * blocks;

/// Threads read what others wrote, with or without the barriers between.
template <bool First, bool Second>
PRECAST_KERNEL void turn_round(GlobalPointer<int> to) {
  auto box = static_shared<int, threads, struct Box>();
  int mine = thread_index();
  for (int round = 0; round < 2; ++round) {
    box[thread_index()] = mine;
    if constexpr (First) sync_block();
    mine = box[threads - 1 - thread_index()];  // races without the first barrier
    if constexpr (Second) sync_block();
  }
  to[block_index().x * threads + thread_index()] = mine;
}

/// The lanes of a warp, ordered by a barrier, or by a shuffle, which is none.
template <bool Barrier>
PRECAST_KERNEL void within_a_warp(GlobalPointer<int> to) {
  auto box = static_shared<int, threads, struct WarpBox>();
  box[thread_index()] = thread_index();
  if constexpr (Barrier)
    sync_warp();
  else
    shuffle_xor(0, 1);
  to[block_index().x * threads + thread_index()] = box[thread_index() ^ 1];
}

/// Copies that other threads read, after the wait, and after a barrier or not.
template <bool Barrier>
PRECAST_KERNEL void copies(GlobalPointer<int> to) {
  auto box = static_shared<int, threads, struct Landing>();
  cp_async<4>(box + thread_index(), to + thread_index());
  cp_async_commit();
  cp_async_wait<0>();
  if constexpr (Barrier) sync_block();
  int sum = 0;
  for (int i = 0; i < threads; ++i) sum += box[i];
  if (sum == 1) to[thread_index()] = sum;
}

/// Lanes load the rows that other lanes wrote.
template <bool Barrier>
PRECAST_KERNEL void matrix_rows(GlobalPointer<int> to) {
  auto rows = static_shared<std::uint16_t, 256, struct Rows>();
  for (int i = lane_index(); i < 256; i += 32) rows[i] = static_cast<std::uint16_t>(i);
  if constexpr (Barrier) sync_warp();
  const auto fragment = ldmatrix<4>(rows + lane_index() * 8);
  to[thread_index() + block_index().x * threads] = static_cast<int>(fragment.words[0]);
}

/// A warp reads what another wrote before it arrived, after a wait for its phase or not.
template <bool Wait>
PRECAST_KERNEL void through_a_barrier(GlobalPointer<int> to) {
  auto box = static_shared<int, 32, struct PhaseBox>();
  const auto barrier = static_shared<Mbarrier, 1, struct Phase>();
  if (thread_index() == 0) init_mbarrier(barrier, 32);
  sync_block();
  if (warp_index() == 0) {
    box[lane_index()] = lane_index();
    arrive(barrier);
    return;
  }
  if constexpr (Wait) wait_parity(barrier, 0);
  to[block_index().x * threads + thread_index()] = box[31 - lane_index()];
}

/// Blocks of one launch write the same place, atomically or not.
template <bool Atomic>
PRECAST_KERNEL void between_blocks(GlobalPointer<int> to) {
  if (thread_index() != 0) return;
  if constexpr (Atomic)
    atomic_add(to, 1);
  else
    to[0] += 1;
}

const std::map<std::string, void (*)(GlobalPointer<int>)> kernels = {
    {"clean-barriers", turn_round<true, true>},
    {"racy-write-read", turn_round<false, true>},
    {"racy-read-write", turn_round<true, false>},
    {"clean-warp", within_a_warp<true>},
    {"racy-warp", within_a_warp<false>},
    {"clean-copies", copies<true>},
    {"racy-copies", copies<false>},
    {"clean-matrix", matrix_rows<true>},
    {"racy-matrix", matrix_rows<false>},
    {"clean-mbarrier", through_a_barrier<true>},
    {"racy-mbarrier", through_a_barrier<false>},
    {"clean-blocks", between_blocks<true>},
    {"racy-blocks", between_blocks<false>},
};

}  // namespace

int main(int count, char** arguments) {
  const auto kernel = kernels.find(count > 1 ? arguments[1] : "");
  if (kernel == kernels.end()) {
    for (const auto& [name, function] : kernels) std::cerr << name << '\n';
    return 2;
  }
  std::vector<int> to(values);
  const simt::Session session;
  const int warps = kernel->first.ends_with("matrix") ? 1 : 2;
  for (int i = 0; i < 2; ++i)
    launch(kernel->first.c_str(), kernel->second, {{blocks}, warps * 32}, {},
           global_pointer(to.data(), values));
}
