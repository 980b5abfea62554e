// BlockProducts: products with a weight whose block format is known at run time alone. What multiplies a
// format is compiled once for each dtype of operands, never for each policy, in units that register it
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
/// results rounded once. x holds operands, as LibraryOperand has them; a value of the weight is rounded to an
/// operand once. All memory is the device's.
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

/// What multiplies by weights in one block format.
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

/// A global of this type gives its products to the program that it is linked into.
struct BlockProductsRegistration {
  explicit BlockProductsRegistration(std::span<const BlockProducts> products) {
    auto& all = detail::registered_block_products();
    all.insert(all.end(), products.begin(), products.end());
  }
};

/// Does nothing. A program that calls it has the products of these operands where they are in a library, of
/// which a linker takes what something refers to; the unit that registers them defines it.
template <ScalarDtype Operand>
void link_block_products();

/// What this program has for a format, one function for each dtype of operands, null where it has none.
class BlockMultipliers {
 public:
  BlockMultipliers() = default;
  explicit BlockMultipliers(std::string_view format) {
    for (const BlockProducts& products : detail::registered_block_products())
      if (products.format == format)
        functions_[static_cast<std::size_t>(products.operand)] = products.multiply;
  }

  /// For operands of a dtype that no library has, null.
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

/// Whether products with these dtypes may be of a weight in blocks of a file: sums in f32, and no clamping.
template <class Types>
inline constexpr bool multiplies_blocks_of_files =
    std::is_same_v<typename Types::accumulate, f32> && !Types::saturate &&
    (std::is_same_v<typename Types::result, f32> || std::is_same_v<typename Types::result, bf16> ||
     std::is_same_v<typename Types::result, f16>);

}  // namespace precast::gpu
