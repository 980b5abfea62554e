// Tiles of rows in shared memory, and how they get there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <precast/cuda/device/async_copy.hpp>
#include <precast/cuda/device/fault.hpp>
#include <precast/cuda/device/operand.hpp>
#include <precast/cuda/device/shared.hpp>
#include <precast/cuda/device/thread.hpp>

namespace precast::cuda::detail {

/// Rows of values in global memory: of one head, or of scratch.
template <class T>
struct GlobalRows {
  GlobalPointer<const T> data;  ///< the first value of the first row
  std::int64_t stride;
  int rows, columns;  ///< what is there: beyond are zeros
  bool aligned;       ///< whether rows start at, and have, a multiple of 16 bytes
};

/// Whether rows of `columns` values, `stride` apart, can be moved 16 bytes at a time.
template <class T>
bool in_whole_vectors(const T* data, std::int64_t stride, std::int64_t columns) {
  constexpr std::int64_t count = widest_vector<T>;
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && stride % count == 0 && columns % count == 0;
}

/// Rows x Columns elements in shared memory. Chunks of 16 bytes are permuted within their row, so that eight
/// lanes that read the same chunk of eight rows, as ldmatrix does, find it in eight different groups of
/// banks.
template <class Element, int Rows, int Columns>
struct SharedTile {
  using value_type = Element;
  static constexpr int rows = Rows, columns = Columns, chunk = widest_vector<Element>;
  static constexpr int chunks_per_row = Columns / chunk;
  static constexpr int size = Rows * Columns;
  static_assert(Columns % chunk == 0 && chunks_per_row % 4 == 0,
                "SharedTile: rows are multiples of 64 bytes, which is what the permutation works on.");

  SharedPointer<Element> data;

  /// What the number of a chunk is combined with in a row. Rows of an odd number of half cache lines change
  /// banks by themselves from one to the next.
  static constexpr int turned_bits = chunks_per_row % 8 == 0 ? 7 : 3;
  static PRECAST_DEVICE int turn(int row) { return (turned_bits == 7 ? row : row >> 1) & turned_bits; }
  /// Where a chunk lies from the start of its row, given the row's turn.
  static PRECAST_DEVICE int place(int index, int turn) {
    return (index & ~turned_bits) * chunk + ((index & turned_bits) ^ turn) * chunk;
  }

  PRECAST_DEVICE SharedPointer<Element> at_chunk(int row, int index) const {
    return data + (row * Columns + place(index, turn(row)));
  }
  PRECAST_DEVICE Element at(int row, int column) const {
    return at_chunk(row, column / chunk)[column % chunk];
  }
};

/// Where one lane reads a tile again and again: chunk `index`, 0 or 1, of a row, and places that differ from
/// it by constants, of which a compiler then keeps none in a register.
template <class Tile>
struct TileReader {
  decltype(Tile::data) row_start;
  int turn;

  PRECAST_DEVICE TileReader(Tile tile, int row, int index, int value = 0)
      : row_start(tile.data + (row * Tile::columns + value)),
        turn(Tile::turn(row) ^ planted<"fragment lane">(index, 0)) {}
  /// `row` more rows, a multiple of 8, and `index` more chunks, an even number.
  PRECAST_DEVICE auto at(int row, int index) const {
    return row_start + Tile::place(index, turn) + row * Tile::columns;
  }
};

/// Brings tiles from global to shared memory, rounded to Operand, by the Threads threads of a block. Each
/// thread copies chunks of its own.
template <class Operand, class Tile, int Threads, class From>
class TileLoader {
 public:
  using Element = typename Tile::value_type;

  explicit PRECAST_DEVICE TileLoader(const GlobalRows<From>& from) : from_(from) {}

  /// Starts to bring rows from first_row and columns from first_column on. They are there for this thread
  /// after wait_copies() and landed(), for the others after a barrier.
  PRECAST_DEVICE void start(Tile to, int first_row, int first_column = 0) const {
    if constexpr (copies)
      if (from_.aligned) {
        for_each_chunk([&](int r, int c) {
          const int row = first_row + r, column = first_column + c * Tile::chunk;
          const bool there =
              row < planted<"rows of a tile">(from_.rows, from_.rows + 1) && column < from_.columns;
          copy_async<16>(to.at_chunk(r, c), there ? from_.data + (row * from_.stride + column) : from_.data,
                         there ? 16 : 0);
        });
        return;
      }
    for_each_chunk([&](int r, int c) {
      store_vector(to.at_chunk(r, c), gather(first_row + r, first_column + c * Tile::chunk));
    });
  }

  /// Rounds what this thread copied, where a copy alone does not.
  PRECAST_DEVICE void landed(Tile tile) const {
    if constexpr (copies && !std::is_same_v<Operand, Element>)
      for_each_chunk([&](int r, int c) {
        auto values = load_vector<Tile::chunk>(tile.at_chunk(r, c));
        PRECAST_UNROLL
        for (int e = 0; e < Tile::chunk; ++e) values[e] = operand_value<Operand, false, Element>(values[e]);
        store_vector(tile.at_chunk(r, c), values);
      });
  }

 private:
  static constexpr bool copies = std::is_same_v<From, Element>;

  /// Calls `function(row, chunk)` for the chunks of this thread. A loop, so that what is on its way takes few
  /// of the registers that sums are in.
  template <class F>
  static PRECAST_DEVICE void for_each_chunk(const F& function) {
    PRECAST_KEEP_LOOP
    for (int i = thread_index(); i < Tile::rows * Tile::chunks_per_row; i += Threads)
      function(i / Tile::chunks_per_row, i % Tile::chunks_per_row);
  }

  PRECAST_DEVICE Vector<Element, Tile::chunk> gather(int row, int column) const {
    constexpr int piece = min_of(Tile::chunk, widest_vector<From>);
    Vector<Element, Tile::chunk> chunk;
    PRECAST_UNROLL
    for (int p = 0; p < Tile::chunk; p += piece) {
      Vector<From, piece> values{};
      if (row < from_.rows && column + p < from_.columns) {
        const GlobalPointer<const From> at = from_.data + (row * from_.stride + column + p);
        if (from_.aligned)
          values = load_vector<piece>(at);
        else
          PRECAST_UNROLL
        for (int e = 0; e < piece; ++e)
          if (column + p + e < from_.columns) values[e] = at[e];
      }
      PRECAST_UNROLL
      for (int e = 0; e < piece; ++e) chunk[p + e] = operand_value<Operand, false, Element>(values[e]);
    }
    return chunk;
  }

  GlobalRows<From> from_;
};

}  // namespace precast::cuda::detail
