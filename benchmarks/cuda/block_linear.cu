// Linear layers whose weights lie in blocks of a file, multiplied in bf16: few rows as the blocks are read,
// and more of them both ways that there are, by our own tiles, which decode on their way to shared memory,
// and by the library, for which panels are decoded ahead of it (decoded_panels.hpp chooses by the number of
// rows).
//
// Floor: of up to 8 rows the bytes of the blocks at the rate of a copy; of more, the operations at the rate
// of cuBLASLt's largest product.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <common/random_tensor.hpp>
#include <cuda/largest_product.hpp>
#include <cuda/measure.hpp>
#include <cuda/random_blocks.hpp>
#include <cuda/suite.hpp>

#include <precast/cuda/matmul/block_product_kernels.hpp>
#include <precast/dtype/blocks/k_blocks.hpp>
#include <precast/dtype/blocks/rounded_blocks.hpp>

namespace precast::bench {

namespace {

/// How many rows are multiplied: few, or many in one of two ways.
enum class Way : std::uint8_t { few, tiles, panels };

/// A weight [features, columns] on the device: a few rows of random values, again and again.
template <BlockDtype Format>
BufferIn<gpu::DeviceMemory> repeated_blocks(std::int64_t features, std::int64_t columns) {
  const auto some = random_blocks(dtype_traits<Format>::name, std::min<std::int64_t>(features, 64), columns);
  const std::size_t bytes =
      static_cast<std::size_t>(features * columns / dtype_traits<Format>::values_per_block) * sizeof(Format);
  BufferIn<gpu::DeviceMemory> buffer(bytes);
  for (std::size_t at = 0; at < bytes; at += some.size())
    buffer.upload(at, some.data(), std::min(some.size(), bytes - at));
  return buffer;
}

template <BlockDtype Format>
void run_block_linear(benchmark::State& state, const Suite& suite, const LinearShape& shape, Way way) {
  const auto weight = repeated_blocks<Format>(shape.out, shape.in);
  const auto x = random_tensor<bf16>({shape.rows, shape.in});
  const auto multiply = [&] {
    Tensor<bf16> out(Shape{shape.rows, shape.out});
    const gpu::BlockProductRequest product{.rows = shape.rows,
                                           .columns = shape.in,
                                           .features = shape.out,
                                           .x = x.data(),
                                           .x_stride = shape.in,
                                           .weight = weight.data(),
                                           .result = gpu::LibraryDtype::bf16,
                                           .out = out.data(),
                                           .out_stride = shape.out};
    const gpu::Stream stream = gpu::current_stream();
    if (way == Way::panels) {
      if (!gpu::detail::multiply_panels<Format, bf16>(product, stream))
        throw Error("cuBLASLt, which multiplies panels, was not found: name its folder in LD_LIBRARY_PATH");
    } else {
      std::optional<gpu::LibraryScope<gpu::ProductLibrary>> without;
      if (way == Way::tiles) without.emplace(gpu::ProductLibrary{});
      gpu::multiply_blocks<Format, bf16>(product, stream);
    }
    return out;
  };
  if (way == Way::few) {
    const std::int64_t blocks = shape.in * shape.out / dtype_traits<Format>::values_per_block;
    return compare_with_copy(state, suite, static_cast<double>(blocks) * sizeof(Format), multiply);
  }
  compare_with_largest_product<bf16>(state, suite, shape.flops(), [&] { (void)multiply(); });
  require_result(multiply());
}

template <BlockDtype Format>
void add_format(const Suite& suite) {
  const double largest = LargestProduct<bf16>::bytes(suite.sizes.largest_product);
  const std::string kind = "linear_" + std::string(dtype_traits<Format>::name);
  for (const std::int64_t rows : suite.sizes.block_rows) {
    const LinearShape shape{rows, suite.sizes.block_in, suite.sizes.block_out};
    const auto add_way = [&](const std::string& suffix, Way way) {
      add(suite, kind + suffix + "/bf16/" + size_text(shape.rows, shape.in) + "x" + std::to_string(shape.out),
          20, largest + 4 * static_cast<double>(shape.in * shape.out + rows * (shape.in + shape.out)),
          [&suite, shape, way](benchmark::State& state) {
            run_block_linear<Format>(state, suite, shape, way);
          });
    };
    if (rows <= gpu::max_skinny_rows) {
      add_way("", Way::few);
    } else {
      add_way("_tiles", Way::tiles);
      add_way("_panels", Way::panels);
    }
  }
}

}  // namespace

void add_block_linear(const Suite& suite) {
  add_format<q8_0>(suite);
  add_format<q4_k>(suite);
}

}  // namespace precast::bench
