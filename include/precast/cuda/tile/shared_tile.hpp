// SharedTile: rows of operands in shared memory, and their swizzle.
#pragma once

#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/side.hpp>

namespace precast::gpu {

/// Rows x Columns elements in shared memory. Chunks of 16 bytes are permuted within their row, so that
/// eight lanes that read the same chunk of eight rows, as ldmatrix does, find it in eight different groups
/// of banks. SpreadsEighths: so do lanes that read the same chunk of rows eight apart; such a tile has no
/// TileReader.
template <class Element, int Rows, int Columns, bool SpreadsEighths = false>
struct SharedTile {
  using value_type = Element;
  static constexpr int rows = Rows, columns = Columns, chunk = widest_vector<Element>;
  static constexpr int chunks_per_row = Columns / chunk;
  static constexpr int size = Rows * Columns;
  static constexpr bool spreads_eighths = SpreadsEighths;
  static_assert(Columns % chunk == 0 && chunks_per_row % 4 == 0,
                "SharedTile: rows are multiples of 64 bytes, which is what the permutation works on.");
  static_assert(!SpreadsEighths || chunks_per_row % 8 == 0,
                "SharedTile: rows eight apart are spread where rows are multiples of 128 bytes.");

  SharedPointer<Element> data;

  /// The bits of a chunk's number that change from row to row. Rows of an odd number of half cache lines
  /// change banks by themselves from one to the next.
  static constexpr int swizzled_bits = chunks_per_row % 8 == 0 ? 7 : 3;
  /// The value that a row XORs these bits with.
  static PRECAST_DEVICE int xor_of(int row) {
    if constexpr (SpreadsEighths) return (row ^ row >> 3) & swizzled_bits;
    return (swizzled_bits == 7 ? row : row >> 1) & swizzled_bits;
  }
  /// The offset of chunk `index` from the start of its row, in elements.
  static PRECAST_DEVICE int xor_swizzle(int index, int xor_of_row) {
    return (index & ~swizzled_bits) * chunk + ((index & swizzled_bits) ^ xor_of_row) * chunk;
  }

  PRECAST_DEVICE SharedPointer<Element> at_chunk(int row, int index) const {
    return data + (row * Columns + xor_swizzle(index, xor_of(row)));
  }
  PRECAST_DEVICE Element at(int row, int column) const {
    return at_chunk(row, column / chunk)[column % chunk];
  }
};

/// The reads that one lane repeats in a tile: of chunk `index`, 0 or 1, of a row, and of places at constant
/// offsets from it, none of which a compiler then keeps in a register.
template <class Tile>
struct TileReader {
  static_assert(!Tile::spreads_eighths, "TileReader: rows eight apart are swizzled alike.");
  decltype(Tile::data) row_start;
  int xor_of_row;

  PRECAST_DEVICE TileReader(Tile tile, int row, int index, int value = 0)
      : row_start(tile.data + (row * Tile::columns + value)),
        xor_of_row(Tile::xor_of(row) ^ planted<"fragment lane">(index, 0)) {}
  /// `row` more rows, a multiple of 8, and `index` more chunks, an even number.
  PRECAST_DEVICE auto at(int row, int index) const {
    return row_start + Tile::xor_swizzle(index, xor_of_row) + row * Tile::columns;
  }
};

}  // namespace precast::gpu
