// Products of bf16 pairs in tile registers (Intel AMX), 16 x 16 f32 sums at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/host/simd/seen_by_sanitizer.hpp>

#if defined(__linux__) && defined(__AMX_TILE__) && defined(__AMX_BF16__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#define PRECAST_HAS_TILE_REGISTERS 1
#else
#define PRECAST_HAS_TILE_REGISTERS 0
#endif

namespace precast::host {

/// Rows and columns of f32 sums in a tile register.
inline constexpr std::int64_t tile_side = 16;
/// bf16 values of the summed dimension that a tile register takes.
inline constexpr std::int64_t tile_depth = 32;

/// Whether this unit is compiled with tile registers (Intel AMX).
inline constexpr bool has_tile_registers = PRECAST_HAS_TILE_REGISTERS;

/// Whether tile registers can multiply this dtype.
template <class Multiplied>
inline constexpr bool fits_tile_registers = has_tile_registers&& std::is_same_v<Multiplied, bf16>;

/// Whether Linux permits this process to use them; the permission is requested once.
inline bool tile_registers_usable() {
  static const bool usable = [] {
#if PRECAST_HAS_TILE_REGISTERS
    constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
#else
    return false;
#endif
  }();
  return usable;
}

/// The layout of a matrix [rows, depth], in values: value (r, k) is at r / tile_side * band + r % tile_side
/// * row + k / tile_depth * step + k % tile_depth.
struct TileLayout {
  std::int64_t row, step, band;

  /// Row-major, with rows `stride` values apart.
  static constexpr TileLayout rows(std::int64_t stride) { return {stride, tile_depth, tile_side * stride}; }
  /// Tile after tile, those of a band of tile_side rows one after another. The rows of a tile are then in
  /// as many neighbouring cache lines, without conflicts between them.
  static constexpr TileLayout tiles(std::int64_t depth) {
    return {tile_depth, tile_side * tile_depth, tile_side * depth};
  }
};

/// c = a b, or c += a b with `add`. a is [rows][depth], b [depth / 2][columns][2]; strides in values. `depth`
/// is a multiple of tile_depth, `columns` of tile_side. Subnormal operands and sums count as zero.
void multiply_in_tile_registers(const bf16* a, const TileLayout& a_layout, const bf16* b,
                                std::int64_t b_stride, std::int64_t depth, f32* c, std::int64_t c_stride,
                                bool add, std::int64_t rows, std::int64_t columns);

#if PRECAST_HAS_TILE_REGISTERS

namespace detail {

/// Tile registers as products of `rows` (at most 2 tile_side) by 2 tile_side sums take them, as long as this
/// lives: 0 and 1 for the upper sums, 2 and 3 for the lower; 4 and 5 for the operands at the left, upper and
/// lower; 6 and 7 for those at the right. Instructions name registers, so their numbers are literals below.
class TileRegisters {
 public:
  explicit TileRegisters(std::int64_t rows) {
    struct alignas(64) Configuration {
      std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
      std::uint16_t bytes_per_row[16] = {64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16] = {};
    } configuration;
    const auto upper = static_cast<std::uint8_t>(std::min(rows, tile_side));
    const auto lower = static_cast<std::uint8_t>(std::max<std::int64_t>(rows - tile_side, 1));
    for (const int sums : {0, 1, 4}) configuration.rows[sums] = upper;
    for (const int sums : {2, 3, 5}) configuration.rows[sums] = lower;
    for (const int right : {6, 7}) configuration.rows[right] = tile_side;
    // GCC 12 takes _tile_loadconfig to read 8 bytes of its 64, and at -Os drops the stores to the others.
    __asm__ volatile("" : : "r"(&configuration) : "memory");
    _tile_loadconfig(&configuration);
  }
  ~TileRegisters() { _tile_release(); }
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;
};

/// The sums of Rows times Columns tiles, one or two of each. b_stride and c_stride in bytes.
template <int Rows, int Columns>
void multiply_tiles(const bf16* a, const TileLayout& layout, const bf16* b, std::int64_t b_bytes,
                    std::int64_t depth, f32* c, std::int64_t c_bytes, bool add) {
  f32* const below = c + tile_side * c_bytes / 4;
  const std::int64_t a_bytes = 2 * layout.row;
  if (add) {
    _tile_loadd(0, c, c_bytes);
    if constexpr (Columns == 2) _tile_loadd(1, c + tile_side, c_bytes);
    if constexpr (Rows == 2) _tile_loadd(2, below, c_bytes);
    if constexpr (Rows == 2 && Columns == 2) _tile_loadd(3, below + tile_side, c_bytes);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  for (std::int64_t k = 0; k < depth; k += tile_depth, a += layout.step, b += tile_side * b_bytes / 2) {
    // Measured: the CPU does not prefetch the right operands, which come from its L2 cache.
    for (std::int64_t r = tile_side; r < 2 * tile_side; ++r)
      _mm_prefetch(reinterpret_cast<const char*>(b) + r * b_bytes, _MM_HINT_T0);
    _tile_loadd(4, a, a_bytes);
    _tile_loadd(6, b, b_bytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (Columns == 2) {
      _tile_loadd(7, b + 2 * tile_side, b_bytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (Rows == 2) {
      _tile_loadd(5, a + layout.band, a_bytes);
      _tile_dpbf16ps(2, 5, 6);
      if constexpr (Columns == 2) _tile_dpbf16ps(3, 5, 7);
    }
  }
  _tile_stored(0, c, c_bytes);
  if constexpr (Columns == 2) _tile_stored(1, c + tile_side, c_bytes);
  if constexpr (Rows == 2) _tile_stored(2, below, c_bytes);
  if constexpr (Rows == 2 && Columns == 2) _tile_stored(3, below + tile_side, c_bytes);
}

}  // namespace detail

inline void multiply_in_tile_registers(const bf16* a, const TileLayout& a_layout, const bf16* b,
                                       std::int64_t b_stride, std::int64_t depth, f32* c,
                                       std::int64_t c_stride, bool add, std::int64_t rows,
                                       std::int64_t columns) {
  const auto multiply = [&](auto tile_rows, std::int64_t row, std::int64_t column) {
    constexpr int Rows = tile_rows();
    const bf16 *const left = a + row / tile_side * a_layout.band, *const right = b + 2 * column;
    f32* const sums = c + row * c_stride + column;
    if (column + tile_side < columns)
      detail::multiply_tiles<Rows, 2>(left, a_layout, right, 2 * b_stride, depth, sums, 4 * c_stride, add);
    else
      detail::multiply_tiles<Rows, 1>(left, a_layout, right, 2 * b_stride, depth, sums, 4 * c_stride, add);
  };
  const std::int64_t whole = rows / (2 * tile_side) * (2 * tile_side), rest = rows - whole;
  if constexpr (has_address_sanitizer) {
    for (std::int64_t row = 0; row < rows; row += tile_side)
      for (std::int64_t k = 0; k < depth; k += tile_depth)
        show_to_sanitizer(a + row / tile_side * a_layout.band + k / tile_depth * a_layout.step,
                          std::min(tile_side, rows - row), 2 * tile_depth, 2 * a_layout.row);
    show_to_sanitizer(b, depth / 2, 4 * columns, 2 * b_stride);
    show_to_sanitizer(c, rows, 4 * columns, 4 * c_stride);
  }
  // GCC 12 does not know that tiles are loaded from memory.
  __asm__ volatile("" ::: "memory");
  if (whole > 0) {
    const detail::TileRegisters registers(2 * tile_side);
    for (std::int64_t column = 0; column < columns; column += 2 * tile_side)
      for (std::int64_t row = 0; row < whole; row += 2 * tile_side)
        multiply(std::integral_constant<int, 2>{}, row, column);
  }
  if (rest > 0) {
    const detail::TileRegisters registers(rest);
    for (std::int64_t column = 0; column < columns; column += 2 * tile_side)
      if (rest > tile_side)
        multiply(std::integral_constant<int, 2>{}, whole, column);
      else
        multiply(std::integral_constant<int, 1>{}, whole, column);
  }
}

#endif

}  // namespace precast::host
