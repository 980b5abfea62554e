// A kernel for each block format that decodes whole blocks and a run across two of them: what kernels read of
// a weight.
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/dtype/blocks/block_formats.hpp>

using namespace precast;
using namespace precast::gpu;

namespace {

template <class Format>
PRECAST_KERNEL void decode_blocks(GlobalPointer<const Format> from, GlobalPointer<f32> to) {
  constexpr int in_block = dtype_traits<Format>::values_per_block;
  f32 values[in_block];
  decode_run<Format>(from, in_block / 2 + 1, in_block, values);
  for (int i = 0; i < in_block; ++i) to[in_block * thread_index() + i] = values[i];
}

template <class Format>
void start() {
  launch("decode_blocks", decode_blocks<Format>, {{1}, 32, 0}, Stream{}, GlobalPointer<const Format>(),
         GlobalPointer<f32>());
}

template <class... Entries>
void start_each(BlockFormatList<Entries...>) {
  (start<typename Entries::format>(), ...);
}

}  // namespace

void start_every_block_format() { start_each(BlockFormats{}); }
