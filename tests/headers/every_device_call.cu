// A kernel that calls all that precast/cuda/device offers to every architecture, on pointers of all its
// kinds, under names that must not be CUDA's. It computes nothing. Of what warpgroups alone may say it has
// the declarations; tests/cuda_build/warpgroup_kernels.cu calls that. CMake holds the list against the
// folder.
#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/bytes.hpp>
#include <precast/cuda/device/capability.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/cp_async.hpp>
#include <precast/cuda/device/index.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/math.hpp>
#include <precast/cuda/device/mbarrier.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/mma.hpp>
#include <precast/cuda/device/operand.hpp>
#include <precast/cuda/device/reduce.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/smem_descriptor.hpp>
#include <precast/cuda/device/swizzle.hpp>
#include <precast/cuda/device/tensor_map.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/device/tma_load.hpp>
#include <precast/cuda/device/warpgroup.hpp>
#include <precast/cuda/device/wgmma.hpp>

using namespace precast;
using namespace precast::gpu;

namespace {

PRECAST_DEVICE f32 with_barriers(f32 value, SharedPointer<f32> scratch, Site site = Site::here()) {
  scratch[thread_index()] = value;
  sync_block(site.part(1));
  value = scratch[threads_in_block() - 1 - thread_index()];
  sync_block(site.part(2));
  return value;
}

template <class T>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(64, 2)
    every_call(GlobalPointer<const T> from, GlobalPointer<f32> to, GlobalPointer<unsigned> counts,
               GlobalPointer<const unsigned char> bytes) {
  auto scratch = static_shared<f32, 64, struct Scratch>();
  SharedPointer<T> tile = dynamic_shared<T>(0, 4096);
  const GridIndex block = block_index(), grid = grid_size();
  GlobalPointer<const T> next = from + (block.x + block.y * grid.x);
  next += 8 * thread_index();
  cp_async<16>(tile + thread_index() * widest_vector<T>, next, thread_index() % 2 * 16);
  cp_async_commit();
  cp_async_wait<1>();
  cp_async_wait<0>();
  sync_block();
  sync_named(1 + warp_index(), threads_per_warp);
  sync_warp();
  fence_block();
  fence_device();

  const SharedPointer<const T> row = tile + lane_index() * 8;
  const Fragment<4> a = ldmatrix<4>(row);
  const Fragment<2> b = ldmatrix<2, true>(row);
  const Fragment<1> c = ldmatrix<1>(tile);
  AccumulatorFragment sums;
  mma_sync<T>(sums, a, b);
  mma_sync<tf32>(sums, Fragment<4>{{tf32_word(1.0f), 0, 0, c.words[0]}}, b);

  f32 value = with_barriers(to_f32(from[0]) + sums.values[0], scratch);
  value += shuffle(value, 0) + shuffle_xor(value, 1) + shuffle_down(value, 1);
  value = multiply_then_add(maximum(value, square_root(value)), exponential(value), cosine(value));
  value += sine(value) * power_of_two_fast(value) * reciprocal_fast(value);
  value += warp_sum(value) + warp_max<8>(value) + block_sum<64, struct Sum>(value) +
           block_max<64, struct Most>(value);
  value += largest_in_block<64, struct Largest>(3, [&](std::int64_t i) { return to_f32(from[i]); });
  value += static_cast<f32>(divide_index(block.x, grid.x).rest + compiled_capability);
  value += to_f32(operand_value<fp8_e4m3, true>(value)) + operand_in_f32<tf32, false>(value);
  const auto run = load_run<4>(from, 3, false);
  store_run(to, Run<f32, 4>{{to_f32(run[0]), 0, 0, value}}, 2, false);
  store_rounded<true>(to, load_f32<4>(from, 4, true), 4, true);
  const auto loaded = load_vector<2>(from);
  store_vector_global(to + 4 * thread_index(),
                      Vector<f32, 4>{{value, to_f32(loaded[0]), rounded<T>(value), 0.0f}});
  value += to_f32(object_at<T>(bytes));
  if (counts && planted<"edge">(warp_ballot(value > 0) != 0, false)) {
    atomic_add(counts, round_pair<T>(value, 1.0f) + operand_pair<T>(value, 1.0f));
    atomic_max(counts + 1, pack_pair(round_to<T>(value), tile[0]));
  }
}

}  // namespace

void start_every_call(const bf16* from, f32* to) {
  if (capability_of_code(reinterpret_cast<const void*>(&every_call<bf16>)) > device_capability()) return;
  const auto count = std::int64_t{1} << 20;
  const auto bytes = bytes_of(GlobalPointer<const bf16>(global_pointer(from, count)), count);
  if (!begin_on_16_bytes(bytes)) return;
  launch("every_call", every_call<bf16>, {{2}, 64, 8192}, Stream{},
         GlobalPointer<const bf16>(global_pointer(from, count)), global_pointer(to, count),
         GlobalPointer<unsigned>(), bytes);
}
