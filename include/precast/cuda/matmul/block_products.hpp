// BlockProducts: products with a weight whose block format is known only at run time. The kernels of a
// format are compiled once for each dtype of operands, not for each policy, in units that register them
// (block_product_kernels.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <precast/cuda/matmul/library_dtypes.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/problem/epilogue.hpp>

namespace precast::gpu {

/// out [rows, features] = activate(x [rows, columns] weight [features, columns]^T + bias): sums in f32,
/// results rounded once. x holds operands, stored as LibraryOperand; each value of the weight is rounded to
/// an operand once. All pointers are to device memory.
struct BlockProductRequest {
  std::int64_t rows = 0, columns = 0, features = 0;
  const void* x = nullptr;
  std::int64_t x_stride = 0;
  const std::byte* weight = nullptr;  ///< row after row, each of which begins with a block
  Epilogue epilogue{};
  LibraryDtype result{};  ///< f32, bf16 or f16
  void* out = nullptr;
  std::int64_t out_stride = 0;
};

/// The function that multiplies by weights of one block format, for one dtype of operands.
struct BlockProducts {
  using Multiply = void (*)(const BlockProductRequest&, Stream);

  LibraryDtype operand{};
  std::string_view format;
  Multiply multiply = nullptr;
};

namespace detail {
inline std::vector<BlockProducts>& registered_block_products() {
  static std::vector<BlockProducts> all;
  return all;
}
}  // namespace detail

/// A global of this type registers its products in the program that it is linked into.
struct BlockProductsRegistration {
  explicit BlockProductsRegistration(std::span<const BlockProducts> products) {
    auto& all = detail::registered_block_products();
    all.insert(all.end(), products.begin(), products.end());
  }
};

/// Does nothing. A call makes the linker take, out of a static library, the unit that defines this function
/// and registers the products of these operands.
template <ScalarDtype Operand>
void link_block_products();

/// This program's products of a format: one function for each dtype of operands, null where it has none.
class BlockMultipliers {
 public:
  BlockMultipliers() = default;
  explicit BlockMultipliers(std::string_view format) {
    for (const BlockProducts& products : detail::registered_block_products())
      if (products.format == format)
        functions_[static_cast<std::size_t>(products.operand)] = products.multiply;
  }

  /// The function for a dtype of operands; null for dtypes that are no LibraryDtype.
  template <ScalarDtype Operand>
  BlockProducts::Multiply of() const {
    if constexpr (is_library_dtype<Operand>)
      return functions_[static_cast<std::size_t>(library_dtype<Operand>())];
    else
      return nullptr;
  }

 private:
  std::array<BlockProducts::Multiply, 5> functions_{};
};

/// Whether products with these dtypes take weights in a file's blocks: sums in f32, and no clamping.
template <class Types>
inline constexpr bool multiplies_blocks_of_files =
    std::is_same_v<typename Types::accumulate, f32> && !Types::saturate &&
    (std::is_same_v<typename Types::result, f32> || std::is_same_v<typename Types::result, bf16> ||
     std::is_same_v<typename Types::result, f16>);

}  // namespace precast::gpu
