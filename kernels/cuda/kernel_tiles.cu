// Prints the tiles that the selectors give: for each selector, as kernels' names spell it, and architecture
// a line "selector;capability;what a block works on;bytes of dynamic shared memory;stages". resources.py
// reads it, because kernels' names say which selector they take, and not which tile that gives.
#include <cstdio>
#include <utility>

#include <precast/cuda/attention/gradient_tile.hpp>
#include <precast/cuda/device/operand.hpp>
#include <precast/cuda/tile/block_gemv_tile.hpp>
#include <precast/cuda/tile/flash_attention_tile.hpp>
#include <precast/cuda/tile/matmul_tile.hpp>
#include <precast/cuda/tile/selector.hpp>
#include <precast/cuda/tile/warpgroup_attention_tile.hpp>
#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/scalar.hpp>

using namespace precast;
using namespace precast::gpu;

namespace {

template <class Operand, bool WholeWeights, int Width, bool Biased>
void print_attention(const char* operand, Architecture architecture) {
  const FlashAttentionTile tile =
      FlashAttentionSelector<Operand, WholeWeights, Width, Biased>::tile(architecture);
  std::printf("FlashAttentionSelector<%s, %s, %d, %s>;%d;%d queries, %d keys;%d;%d\n", operand,
              WholeWeights ? "true" : "false", Width, Biased ? "true" : "false",
              static_cast<int>(architecture), tile.queries, tile.keys,
              flash_attention_bytes<Operand>(tile, Width), tile.stages);
}

/// The tiles of attention's gradients (2 matrices) and of tiled_rests (1): the same on every architecture.
template <class Operand>
void print_gradients(const char* operand, Architecture architecture) {
  constexpr int value_bytes = sizeof(HeldDtype<Operand>);
  for (const int width : gpu::detail::tiled_gradient_widths)
    for (const int matrices : {1, 2}) {
      const gpu::detail::GradientTile tile = gpu::detail::select_gradient_tile(width, value_bytes);
      std::printf("%s<%s, %d>;%d;%d rows, %d others;%zu;%d\n",
                  matrices == 1 ? "tiled_rests" : "tiled_gradient", operand, width,
                  static_cast<int>(architecture), tile.rows, tile.others,
                  tile.shared_bytes(width, value_bytes, matrices), tile.stages);
    }
}

template <class Operand>
void print_attention_of(const char* operand, Architecture architecture) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((print_attention<Operand, false, flash_attention_widths[I], false>(operand, architecture),
      print_attention<Operand, false, flash_attention_widths[I], true>(operand, architecture),
      print_attention<Operand, true, flash_attention_widths[I], false>(operand, architecture),
      print_attention<Operand, true, flash_attention_widths[I], true>(operand, architecture)),
     ...);
  }
  (std::make_index_sequence<flash_attention_widths.size()>{});
  print_gradients<Operand>(operand, architecture);
}

template <template <class...> class List, class... Operands>
void print_attention_of_each(Architecture architecture, List<Operands...>) {
  (print_attention_of<Operands>(dtype_traits<Operands>::name.data(), architecture), ...);
}

/// Skinny GEMMs with a weight in blocks: the same on every architecture.
template <class... Entries>
void print_block_gemv(Architecture architecture, BlockFormatList<Entries...>) {
  for (const int rows : {1, max_skinny_rows}) {
    const BlockGemvTile tile = select_block_gemv_tile(rows);
    (std::printf("block_gemv_tile<%s, %d>;%d;%d features;%d;%d\n",
                 dtype_traits<typename Entries::format>::name.data(), rows, static_cast<int>(architecture),
                 tile.warps * tile.features_per_warp, tile.shared_bytes<typename Entries::format>(),
                 tile.stages),
     ...);
  }
}

}  // namespace

int main() {
  for (const int width : {64, 128})
    std::printf("warpgroup_attention_tile<%d>;90;%d queries, %d keys;%d;%d\n", width,
                warpgroup_attention_tile.queries(), warpgroup_attention_tile.keys,
                warpgroup_attention_tile.shared_bytes(width), warpgroup_attention_tile.stages);
  for (const Architecture architecture : all_architectures) {
    print_attention_of_each(architecture, ScalarDtypes{});
    print_block_gemv(architecture, BlockFormats{});
    for (const MatmulTileSize size : {MatmulTileSize::small, MatmulTileSize::large}) {
      const MatmulTile tile = select_matmul_tile(architecture, size);
      std::printf("MatmulSelector<(MatmulTileSize)%d>;%d;%d x %d;%d;%d\n", static_cast<int>(size),
                  static_cast<int>(architecture), tile.rows, tile.features, tile.shared_bytes(), tile.stages);
    }
  }
}
