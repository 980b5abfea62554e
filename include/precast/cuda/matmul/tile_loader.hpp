// TileLoader: brings a tile of operands to shared memory, stage by stage.
#pragma once

#include <algorithm>
#include <cstdint>

#include <precast/cuda/device/async_copy.hpp>
#include <precast/cuda/device/fault.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/operand.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/tile/matmul_tile.hpp>

namespace precast::cuda {

/// Chunks of 16 bytes in a row of a stage.
inline constexpr int chunks_per_row = MatmulTile::bytes_per_row / 16;

/// Where a chunk of a row lies in a stage, counted in chunks. The exclusive or spreads what is read at once
/// over all banks: one chunk of eight rows that follow each other, and one chunk of rows that lie 8 apart.
PRECAST_DEVICE int chunk_place(int row, int chunk) {
  return row * chunks_per_row + (chunk ^ ((row ^ (row >> 3)) % chunks_per_row));
}

/// Loads Rows rows of a source (MatrixRows, BlockRows or ImplicitIm2col) for a block of Threads threads.
/// Values that are operands as they lie in memory are copied while the threads go on; others pass through
/// registers, where they are decoded and rounded.
template <ScalarDtype Operand, bool Saturates, class Source, int Rows, int Threads>
class TileLoader {
 public:
  using Held = HeldDtype<Operand>;
  static constexpr int values_per_chunk = 16 / static_cast<int>(sizeof(Held));
  static constexpr int columns_per_stage = chunks_per_row * values_per_chunk;
  /// Whether values are operands as they lie in memory, so that they may be copied while the threads go on.
  static constexpr bool in_place = !Source::decoded && are_operands<Operand, typename Source::value_type>;

  PRECAST_DEVICE TileLoader(const Source& source, std::int64_t first_row) : source_(source) {
    PRECAST_UNROLL
    for (int i = 0; i < chunks_per_thread; ++i) rows_[i] = source.row(first_row + row_of(i));
  }

  /// Starts to bring the columns from `first_column` on.
  PRECAST_DEVICE void fetch(SharedPointer<Held> stage, int first_column) {
    const int column = first_column + chunk_of_thread() * values_per_chunk;
    if constexpr (in_place) {
      if (source_.wide) {
        PRECAST_UNROLL
        for (int i = 0; i < chunks_per_thread; ++i) {
          const auto run = source_.run(rows_[i], column, values_per_chunk);
          copy_async<16>(stage + place(i), source_.data + run.offset,
                         run.values * static_cast<int>(sizeof(Held)));
        }
        return;
      }
    }
    PRECAST_UNROLL
    for (int i = 0; i < chunks_per_thread; ++i) {
      PRECAST_UNROLL
      for (int p = 0; p < pieces; ++p) held_[i][p] = piece(rows_[i], column + p * values_per_piece);
    }
  }

  /// Rounds and stores what went through registers.
  PRECAST_DEVICE void put(SharedPointer<Held> stage) {
    if constexpr (in_place)
      if (source_.wide) return;
    PRECAST_UNROLL
    for (int i = 0; i < chunks_per_thread; ++i) {
      Vector<Held, values_per_chunk> chunk;
      PRECAST_UNROLL
      for (int v = 0; v < values_per_chunk; ++v)
        chunk[v] = operand_value<Operand, Saturates>(held_[i][v / values_per_piece][v % values_per_piece]);
      store_vector(stage + place(i), chunk);
    }
  }

 private:
  using From = typename Source::value_type;
  static constexpr int chunks_per_thread = Rows * chunks_per_row / Threads;
  static_assert(Rows * chunks_per_row % Threads == 0, "TileLoader: every thread loads as many chunks.");
  /// What one load of a thread reads: a chunk's values, or 16 bytes of them.
  static constexpr int values_per_piece = min_of(values_per_chunk, widest_vector<From>);
  static constexpr int pieces = values_per_chunk / values_per_piece;
  using Piece = Vector<From, values_per_piece>;

  PRECAST_DEVICE static int row_of(int i) {
    return thread_index() / chunks_per_row + i * (Threads / chunks_per_row);
  }
  PRECAST_DEVICE static int chunk_of_thread() { return thread_index() % chunks_per_row; }
  PRECAST_DEVICE static int place(int i) {
    return chunk_place(row_of(i), chunk_of_thread()) * values_per_chunk;
  }

  PRECAST_DEVICE Piece piece(const typename Source::Row& row, int column) const {
    Piece values;
    if constexpr (Source::decoded) {
      source_.decode(row, column, values_per_piece, values.values);
      return values;
    } else {
      if (source_.wide) {
        const auto run = source_.run(row, column, values_per_piece);
        if (run.values == values_per_piece) return load_vector<values_per_piece>(source_.data + run.offset);
        if (run.values == 0) return Piece{};
      }
      PRECAST_UNROLL
      for (int v = 0; v < values_per_piece; ++v) values[v] = source_.value(row, column + v);
      return values;
    }
  }

  const Source& source_;
  typename Source::Row rows_[chunks_per_thread];
  Piece held_[chunks_per_thread][pieces];
};

}  // namespace precast::cuda
