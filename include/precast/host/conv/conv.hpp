// Convolution on the host. Large images go to oneDNN's convolution in bands of rows; for all others the
// patches of a block of pixels, as rows, are multiplied with the weight.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/host/conv/conv_bands.hpp>
#include <precast/host/matmul/matmul.hpp>
#include <precast/host/matmul/operands.hpp>
#include <precast/host/matmul/packed_weight.hpp>
#include <precast/host/matmul/panel_product.hpp>
#include <precast/host/matmul/tiled_operands.hpp>
#include <precast/host/onednn/onednn.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/host/runtime/thread_scratch.hpp>
#include <precast/host/simd/tile_registers.hpp>
#include <precast/problem/conv_sizes.hpp>
#include <precast/problem/product_kernels.hpp>
#include <precast/tensor/rounded_up.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

namespace detail {

/// Writes the patch [kernel_height, kernel_width, channels] under an output pixel as operands; zeros outside.
template <class Operand, bool Saturates, OneDnnOperand Multiplied, class X>
void gather_patch(HostView<const X> x, const ConvSizes& sizes, std::int64_t pixel, Multiplied* patch) {
  const std::int64_t column = pixel % sizes.out_width, rest = pixel / sizes.out_width;
  const std::int64_t row = rest % sizes.out_height, image = rest / sizes.out_height;
  const std::int64_t top = row * sizes.stride - sizes.pad_top, left = column * sizes.stride - sizes.pad_left;
  const std::int64_t first = std::clamp<std::int64_t>(-left, 0, sizes.kernel_width);
  const std::int64_t last = std::clamp<std::int64_t>(sizes.width - left, first, sizes.kernel_width);
  const std::int64_t channels = sizes.channels, run = sizes.kernel_width * channels;
  const auto copy = [&](const X* from, std::int64_t count, Multiplied* to) {
    operand_row<Operand, Saturates>(std::span<const X>(from, static_cast<std::size_t>(count)),
                                    std::span<Multiplied>(to, static_cast<std::size_t>(count)));
  };
  for (std::int64_t i = 0; i < sizes.kernel_height; ++i, patch += run) {
    const std::int64_t y = top + i;
    if (y < 0 || y >= sizes.height || first == last) {
      std::fill_n(patch, run, Multiplied{});
      continue;
    }
    std::fill_n(patch, first * channels, Multiplied{});
    std::fill_n(patch + last * channels, run - last * channels, Multiplied{});
    const X* const from =
        x.data() + ((image * sizes.height + y) * sizes.width + left + first) * x.row_stride();
    if (x.row_stride() == channels) {
      copy(from, (last - first) * channels, patch + first * channels);
    } else {
      for (std::int64_t j = first; j < last; ++j)
        copy(from + (j - first) * x.row_stride(), channels, patch + j * channels);
    }
  }
}

/// The same one block of pixels at a time: all threads gather its patches, then share its panels. For small
/// images, which have fewer blocks than there are threads.
template <class Types, OneDnnOperand Multiplied, class X>
void conv_of_few_patches(HostView<const X> x, const ConvSizes& sizes,
                         const PanelProduct<Types, Multiplied>& product,
                         HostView<typename Types::result> out) {
  const std::int64_t columns = sizes.patch();
  const bool in_tiles = multiplies_in_tiles<Types>();
  const std::int64_t depth = in_tiles ? rounded_up(columns, tile_depth) : columns;
  constexpr std::int64_t together = tile_side;  // pixels of a task
  const Buffer buffer(static_cast<std::size_t>(rounded_up(product.rows_of(0), together) * depth) *
                      sizeof(Multiplied));
  auto* const patches = reinterpret_cast<Multiplied*>(buffer.data());
  const std::int64_t most_tasks = ceil_divide(product.rows_of(0), together);
  if (in_tiles) scratch_memory<PatchScratch>(most_tasks, columns * std::int64_t{sizeof(Multiplied)});
  for (std::int64_t block = 0; block < product.blocks(); ++block) {
    const std::int64_t first = product.first_row(block), count = product.rows_of(block);
    parallel_for(ceil_divide(count, together), [&](std::int64_t task) {
      const std::int64_t end = std::min(count, (task + 1) * together);
      for (std::int64_t p = task * together; p < end; ++p) {
        if constexpr (fits_tile_registers<Multiplied>)
          if (in_tiles) {
            auto* const patch = reinterpret_cast<Multiplied*>(
                thread_scratch<PatchScratch>(static_cast<std::size_t>(columns) * sizeof(Multiplied)));
            gather_patch<typename Types::operand, Types::saturate>(x, sizes, first + p, patch);
            store_in_tiles({patch, static_cast<std::size_t>(columns)}, p, depth, patches);
            continue;
          }
        gather_patch<typename Types::operand, Types::saturate>(x, sizes, first + p, patches + p * columns);
      }
    });
    parallel_for(product.panels(), [&](std::int64_t panel) { product.run(block, panel, patches, out); });
  }
}

template <class Types, OneDnnOperand Multiplied, class X>
void conv_of_patches(HostView<const X> x, const PackedWeight<typename Types::storage>& weight,
                     const ConvSizes& sizes, const Epilogue& epilogue, HostView<typename Types::result> out) {
  constexpr std::int64_t pixels_per_block = 256;
  const std::int64_t columns = sizes.patch();
  const bool in_tiles = multiplies_in_tiles<Types>();
  const PanelProduct<Types, Multiplied> product(weight, epilogue, sizes.pixels(), pixels_per_block);
  constexpr std::int64_t enough_blocks = 16;
  if (product.blocks() < enough_blocks) return conv_of_few_patches<Types, Multiplied>(x, sizes, product, out);
  scratch_memory<PatchScratch>(product.blocks(), (pixels_per_block + 1) * rounded_up(columns, tile_depth) *
                                                     std::int64_t{sizeof(Multiplied)});
  parallel_for(product.blocks(), [&](std::int64_t task) {
    const std::int64_t first = product.first_row(task), count = product.rows_of(task);
    const std::int64_t depth = in_tiles ? rounded_up(columns, tile_depth) : columns;
    const std::int64_t patches_held = in_tiles ? rounded_up(count, tile_side) + 1 : count;
    auto* const patches = reinterpret_cast<Multiplied*>(
        thread_scratch<PatchScratch>(static_cast<std::size_t>(patches_held * depth) * sizeof(Multiplied)));
    Multiplied* const last = patches + (patches_held - 1) * depth;  // a patch before it is stored in tiles
    for (std::int64_t p = 0; p < count; ++p) {
      gather_patch<typename Types::operand, Types::saturate>(x, sizes, first + p,
                                                             in_tiles ? last : patches + p * columns);
      if constexpr (fits_tile_registers<Multiplied>)
        if (in_tiles) store_in_tiles({last, static_cast<std::size_t>(columns)}, p, depth, patches);
    }
    for (std::int64_t panel = 0; panel < product.panels(); ++panel) product.run(task, panel, patches, out);
  });
}

}  // namespace detail

/// out [pixels, features] = activate(patches of x times weight [features, kernel_height * kernel_width *
/// channels]^T
/// + bias), with the rounding of `matmul_transposed`. Shapes must fit; ops check them.
template <class Types, class X>
void conv(HostView<const X> x, const PackedWeight<typename Types::storage>& weight, const ConvSizes& sizes,
          const Epilogue& epilogue, HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  if (out.elements() == 0) return;
  const bool patches_are_pixels = sizes.kernel_height == 1 && sizes.kernel_width == 1 && sizes.stride == 1 &&
                                  sizes.out_height == sizes.height && sizes.out_width == sizes.width;
  if (patches_are_pixels) return matmul_transposed<Types>(x, weight, epilogue, out);
  in_multiplied_dtype<Types>([&]<class Multiplied>(Multiplied) {
    if constexpr (std::is_same_v<typename Types::accumulate, f32>)
      if (detail::conv_in_bands<Types, Multiplied>(x, weight, sizes, epilogue, out)) return;
    detail::conv_of_patches<Types, Multiplied>(x, weight, sizes, epilogue, out);
  });
}

}  // namespace precast::host
