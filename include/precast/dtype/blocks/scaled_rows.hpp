// fp8_e4m3_row fp8_e5m2_row int8_row, fp8_e4m3_tensor fp8_e5m2_tensor: a block is a whole row of a matrix,
// a scale and a code for each column; value = code * scale.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <precast/dtype/blocks/in_pieces.hpp>
#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/dtype.hpp>
#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast {

/// Which values share a scale when they are encoded.
enum class ScaleOf : std::uint8_t { row, tensor };

/// The codes that such a scale can have.
template <class Code>
concept ScaledCode =
    std::same_as<Code, fp8_e4m3> || std::same_as<Code, fp8_e5m2> || std::same_as<Code, std::int8_t>;

/// A row of a matrix in memory: its scale, an f32, and the number of its columns, four bytes each and
/// little-endian, then a code for each column. Rows are contiguous, at any address; since a row has its
/// length, a run of values can go on from one to the next. Where the scale is the tensor's, all rows have
/// the same.
///
/// The type is the first byte of a row: the blocks that a matrix counts are bytes.
template <ScaledCode Code, ScaleOf scale_of>
struct ScaledRow {
  std::uint8_t first_byte;
};

using fp8_e4m3_row = ScaledRow<fp8_e4m3, ScaleOf::row>;
using fp8_e5m2_row = ScaledRow<fp8_e5m2, ScaleOf::row>;
using int8_row = ScaledRow<std::int8_t, ScaleOf::row>;
using fp8_e4m3_tensor = ScaledRow<fp8_e4m3, ScaleOf::tensor>;
using fp8_e5m2_tensor = ScaledRow<fp8_e5m2, ScaleOf::tensor>;

/// Bytes of a row before its codes.
inline constexpr std::int64_t row_head_bytes = 8;

namespace detail {

/// More columns than any row has: a row is one block, and never a part of two.
inline constexpr int longer_than_rows = 1 << 30;

PRECAST_HOST_DEVICE std::uint32_t word_of_row(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16 |
         std::uint32_t{bytes[3]} << 24;
}
PRECAST_HOST_DEVICE f32 scale_of_row(const std::uint8_t* row) { return bit_cast<f32>(word_of_row(row)); }
PRECAST_HOST_DEVICE std::int64_t columns_of_row(const std::uint8_t* row) {
  return std::int64_t{word_of_row(row + 4)};
}

template <ScaledCode Code>
PRECAST_HOST_DEVICE f32 value_of_code(std::uint8_t code) {
  if constexpr (std::same_as<Code, std::int8_t>)
    return byte_value(static_cast<std::int8_t>(code));
  else
    return convert_value<f32>(Code{code});
}

template <ScaledCode Code, ScaleOf scale_of>
struct scaled_row_traits {
  static constexpr int values_per_block = longer_than_rows;
  static constexpr int bytes_per_block = 1;

  /// The size of a row in blocks, which are bytes.
  PRECAST_HOST_DEVICE_CONSTEXPR static std::int64_t blocks_for(std::int64_t columns) {
    return row_head_bytes + columns;
  }

  PRECAST_HOST_DEVICE static void decode(const ScaledRow<Code, scale_of>& row, int first, int count,
                                         f32* values) {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&row);
    const f32 scale = scale_of_row(bytes);
    for (int i = 0; i < count; ++i)
      values[i] = product_with_subnormals(value_of_code<Code>(bytes[row_head_bytes + first + i]), scale);
  }
};

}  // namespace detail

template <>
struct dtype_traits<fp8_e4m3_row> : detail::scaled_row_traits<fp8_e4m3, ScaleOf::row> {
  static constexpr std::string_view name = "fp8_e4m3_row";
};
template <>
struct dtype_traits<fp8_e5m2_row> : detail::scaled_row_traits<fp8_e5m2, ScaleOf::row> {
  static constexpr std::string_view name = "fp8_e5m2_row";
};
template <>
struct dtype_traits<int8_row> : detail::scaled_row_traits<std::int8_t, ScaleOf::row> {
  static constexpr std::string_view name = "int8_row";
};
template <>
struct dtype_traits<fp8_e4m3_tensor> : detail::scaled_row_traits<fp8_e4m3, ScaleOf::tensor> {
  static constexpr std::string_view name = "fp8_e4m3_tensor";
};
template <>
struct dtype_traits<fp8_e5m2_tensor> : detail::scaled_row_traits<fp8_e5m2, ScaleOf::tensor> {
  static constexpr std::string_view name = "fp8_e5m2_tensor";
};

namespace detail {
template <class T>
struct of_scaled_row : std::false_type {};
template <ScaledCode Code, ScaleOf scale_of>
struct of_scaled_row<ScaledRow<Code, scale_of>> : std::true_type {
  using code = Code;
  static constexpr ScaleOf scale = scale_of;
};
}  // namespace detail

/// A dtype whose blocks are rows under a scale.
template <class T>
concept ScaledRowDtype = detail::of_scaled_row<T>::value;
template <ScaledRowDtype T>
using scaled_code_of = typename detail::of_scaled_row<T>::code;
template <ScaledRowDtype T>
inline constexpr ScaleOf scale_of = detail::of_scaled_row<T>::scale;

/// Calls visit(std::type_identity<Format>{}) for each of these dtypes until it returns true; false where none
/// does.
template <class Visit>
constexpr bool any_scaled_row_dtype(Visit&& visit) {
  return visit(std::type_identity<fp8_e4m3_tensor>{}) || visit(std::type_identity<fp8_e5m2_tensor>{}) ||
         visit(std::type_identity<fp8_e4m3_row>{}) || visit(std::type_identity<fp8_e5m2_row>{}) ||
         visit(std::type_identity<int8_row>{});
}

/// Calls visit(std::type_identity<Format>{}) with the one of that name; false where there is none.
template <class Visit>
constexpr bool visit_scaled_row_dtype(std::string_view name, Visit&& visit) {
  return any_scaled_row_dtype([&]<class Format>(std::type_identity<Format> format) {
    if (name != dtype_traits<Format>::name) return false;
    visit(format);
    return true;
  });
}

/// The facts of such a format in a matrix of `columns` columns: a block is a row.
constexpr DtypeInfo scaled_row_info(std::string_view name, std::int64_t columns) {
  return {name, static_cast<int>(columns), static_cast<int>(row_head_bytes + columns)};
}

/// Writes the bytes that come before the codes of a row.
inline void write_row_head(f32 scale, std::int64_t columns, std::byte* row) {
  const std::uint32_t words[2] = {bit_cast<std::uint32_t>(scale), static_cast<std::uint32_t>(columns)};
  for (int i = 0; i < row_head_bytes; ++i) row[i] = static_cast<std::byte>(words[i / 4] >> (i % 4 * 8));
}

}  // namespace precast
