// Loads rows of a source (MatrixRows, BlockRows, ImplicitIm2col) into tiles in shared memory, as
// operands. Scalars that are stored as they are multiplied are copied asynchronously (by TileLoader also
// f32 that is rounded to tf32 once it has landed); others pass through registers, where they are decoded
// and rounded.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/cuda/device/cp_async.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/operand.hpp>
#include <precast/cuda/device/thread.hpp>

namespace precast::gpu {

/// The values that a thread reads at once for a chunk of Held: a chunk's values, or 16 bytes of them.
template <class Held, class From>
using PieceOf = Vector<From, min_of(widest_vector<Held>, widest_vector<From>)>;

/// Starts the copy of a chunk, which is complete after cp_async_wait.
template <class Source, class Held>
PRECAST_DEVICE void copy_chunk(const Source& source, const typename Source::Row& row, int column,
                               SharedPointer<Held> to) {
  const auto extent = source.extent(row, column, widest_vector<Held>);
  cp_async<16>(to, source.data + extent.offset, extent.values * static_cast<int>(sizeof(Held)));
}

/// The values of a row from `column` on.
template <class Held, class Source>
PRECAST_DEVICE auto load_piece(const Source& source, const typename Source::Row& row, int column) {
  using Piece = PieceOf<Held, typename Source::value_type>;
  constexpr int count = sizeof(Piece) / sizeof(typename Source::value_type);
  Piece values;
  if constexpr (Source::decoded) {
    source.decode(row, column, count, values.values);
  } else {
    if (source.wide) {
      const auto extent = source.extent(row, column, count);
      if (extent.values == count) return load_vector<count>(source.data + extent.offset);
      if (extent.values == 0) return Piece{};
    }
    PRECAST_UNROLL
    for (int v = 0; v < count; ++v) values[v] = source.value(row, column + v);
  }
  return values;
}

/// Loads tiles from anywhere in a source, by the Threads threads of a block. Each thread loads chunks of
/// its own, and keeps none of them in registers, of which sums leave few.
template <ScalarDtype Operand, bool Saturates, class Tile, int Threads, class Source>
class TileLoader {
 public:
  using Element = typename Tile::value_type;

  explicit PRECAST_DEVICE TileLoader(const Source& source) : source_(source) {}

  /// Starts to load rows from first_row and columns from first_column on. They are there for this thread
  /// after cp_async_wait() and landed(), for the others after a barrier.
  PRECAST_DEVICE void start(Tile to, int first_row, int first_column = 0) const {
    if constexpr (copies)
      if (source_.wide) {
        for_each_chunk([&](int r, int c) {
          copy_chunk(source_, source_.row(first_row + r), first_column + c * Tile::chunk, to.at_chunk(r, c));
        });
        return;
      }
    for_each_chunk([&](int r, int c) {
      store_vector_shared(to.at_chunk(r, c), load_operands(first_row + r, first_column + c * Tile::chunk));
    });
  }

  /// Rounds the values that this thread copied, where the operand's dtype is not the one copied.
  PRECAST_DEVICE void landed(Tile tile) const {
    if constexpr (copies && !std::is_same_v<Operand, Element>)
      for_each_chunk([&](int r, int c) {
        auto values = load_vector<Tile::chunk>(tile.at_chunk(r, c));
        PRECAST_UNROLL
        for (int e = 0; e < Tile::chunk; ++e)
          values[e] = operand_value<Operand, Saturates, Element>(values[e]);
        store_vector_shared(tile.at_chunk(r, c), values);
      });
  }

 private:
  using From = typename Source::value_type;
  static constexpr bool copies = !Source::decoded && std::is_same_v<From, Element>;

  /// Calls `function(row, chunk)` for the chunks of this thread. Not unrolled, so that loads in flight take
  /// few of the registers that sums are in.
  template <class F>
  static PRECAST_DEVICE void for_each_chunk(const F& function) {
    PRECAST_KEEP_LOOP
    for (int i = thread_index(); i < Tile::rows * Tile::chunks_per_row; i += Threads)
      function(i / Tile::chunks_per_row, i % Tile::chunks_per_row);
  }

  PRECAST_DEVICE Vector<Element, Tile::chunk> load_operands(int row, int column) const {
    constexpr int piece = sizeof(PieceOf<Element, From>) / sizeof(From);
    const auto at = source_.row(row);
    Vector<Element, Tile::chunk> chunk;
    PRECAST_UNROLL
    for (int p = 0; p < Tile::chunk; p += piece) {
      const auto values = load_piece<Element>(source_, at, column + p);
      PRECAST_UNROLL
      for (int e = 0; e < piece; ++e) chunk[p + e] = operand_value<Operand, Saturates, Element>(values[e]);
    }
    return chunk;
  }

  Source source_;
};

/// Loads one band of a source's rows, tile by tile along its columns, by the Threads threads of a block. A
/// thread computes its rows once; values to convert wait in its registers while the block multiplies.
template <ScalarDtype Operand, bool Saturates, class Tile, int Threads, class Source>
class BandLoader {
 public:
  using Element = typename Tile::value_type;
  /// Whether values are operands as stored, so that they may be copied asynchronously.
  static constexpr bool in_place = !Source::decoded && are_operands<Operand, typename Source::value_type>;

  PRECAST_DEVICE BandLoader(const Source& source, std::int64_t first_row) : source_(source) {
    PRECAST_UNROLL
    for (int i = 0; i < chunks_per_thread; ++i) rows_[i] = source.row(first_row + row_of(i));
  }

  /// Starts to load the columns from first_column on.
  PRECAST_DEVICE void start(Tile to, int first_column) {
    const int column = first_column + chunk_of_thread() * Tile::chunk;
    if constexpr (in_place) {
      if (source_.wide) {
        // All stages but the last: few instructions per copy, as products of warpgroups wait for them.
        if constexpr (requires { source_.have(column, Tile::chunk); })
          if (source_.have(column, Tile::chunk)) {
            const auto from = source_.data + ((rows_[0].there ? rows_[0].offset : 0) + column);
            PRECAST_UNROLL
            for (int i = 0; i < chunks_per_thread; ++i) {
              const bool there = rows_[i].there;
              cp_async<16>(place(to, i), from + (there ? i * rows_apart * source_.row_stride : 0),
                           there ? 16 : 0);
            }
            return;
          }
        PRECAST_UNROLL
        for (int i = 0; i < chunks_per_thread; ++i) copy_chunk(source_, rows_[i], column, place(to, i));
        return;
      }
    }
    PRECAST_UNROLL
    for (int i = 0; i < chunks_per_thread; ++i) {
      if constexpr (Source::decoded) {
        held_[i][0] = decoded_operands(rows_[i], column);
      } else {
        PRECAST_UNROLL
        for (int p = 0; p < pieces; ++p)
          held_[i][p] = load_piece<Element>(source_, rows_[i], column + p * values_per_piece);
      }
    }
  }

  /// Rounds and stores the values that wait in registers.
  PRECAST_DEVICE void convert_and_store(Tile to) {
    if constexpr (in_place)
      if (source_.wide) return;
    PRECAST_UNROLL
    for (int i = 0; i < chunks_per_thread; ++i) {
      if constexpr (Source::decoded) {
        store_vector_shared(place(to, i), held_[i][0]);
      } else {
        Vector<Element, Tile::chunk> chunk;
        PRECAST_UNROLL
        for (int v = 0; v < Tile::chunk; ++v)
          chunk[v] = operand_value<Operand, Saturates>(held_[i][v / values_per_piece][v % values_per_piece]);
        store_vector_shared(place(to, i), chunk);
      }
    }
  }

 private:
  using From = typename Source::value_type;
  /// The values that wait in registers: as they are stored, or for blocks decoded and rounded, which takes
  /// half the registers where operands have 16 bits.
  using Piece = std::conditional_t<Source::decoded, Vector<Element, Tile::chunk>, PieceOf<Element, From>>;
  static constexpr int chunks_per_thread = Tile::rows * Tile::chunks_per_row / Threads;
  static_assert(Tile::rows * Tile::chunks_per_row % Threads == 0 && Threads % Tile::chunks_per_row == 0,
                "BandLoader: every thread loads as many chunks, of the same columns.");
  static constexpr int values_per_piece =
      Source::decoded ? Tile::chunk : static_cast<int>(sizeof(Piece) / sizeof(From));
  static constexpr int pieces = Tile::chunk / values_per_piece;

  PRECAST_DEVICE Vector<Element, Tile::chunk> decoded_operands(const typename Source::Row& row,
                                                               int column) const {
    f32 values[Tile::chunk];
    source_.decode_chunk(row, column, values);
    Vector<Element, Tile::chunk> chunk;
    PRECAST_UNROLL
    for (int v = 0; v < Tile::chunk; ++v) chunk[v] = operand_value<Operand, Saturates>(values[v]);
    return chunk;
  }
  static constexpr int rows_apart = Threads / Tile::chunks_per_row;  ///< a thread's, one from the next
  PRECAST_DEVICE static int row_of(int i) { return thread_index() / Tile::chunks_per_row + i * rows_apart; }
  /// The place of this thread's chunk `i`.
  PRECAST_DEVICE static auto place(Tile to, int i) {
    if constexpr (!Tile::spreads_eighths && rows_apart % 8 == 0)  // swizzled alike
      return to.at_chunk(row_of(0), chunk_of_thread()) + i * rows_apart * Tile::columns;
    else
      return to.at_chunk(row_of(i), chunk_of_thread());
  }
  PRECAST_DEVICE static int chunk_of_thread() { return thread_index() % Tile::chunks_per_row; }

  const Source& source_;
  typename Source::Row rows_[chunks_per_thread];
  Piece held_[chunks_per_thread][pieces];
};

}  // namespace precast::gpu
