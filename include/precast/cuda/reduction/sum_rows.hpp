// Sums of rows in f32: rows of any length in pieces, whose sums are summed in the same way. The shapes
// alone decide the order.
#pragma once

#include <cstdint>
#include <utility>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/index.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/rows/row.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu::detail {

/// Rows and how they are cut: whole where a block holds one in registers, else into pieces for blocks of 128
/// threads.
struct RowPieces {
  std::int64_t rows = 0, columns = 0, piece = 0, pieces = 0;

  static constexpr int tile_of_pieces = 2;
  static constexpr RowPieces of(std::int64_t rows, std::int64_t columns, int run) {
    constexpr RowTile tile = row_tiles[tile_of_pieces];
    const bool whole = row_tiles[select_row_tile(columns, run)].resident();
    const std::int64_t piece =
        whole ? max_of<std::int64_t>(columns, 1) : std::int64_t{tile.lanes} * tile.runs * run;
    return {rows, columns, piece, max_of<std::int64_t>(1, ceil_divide(columns, piece))};
  }
  std::int64_t count() const { return rows * pieces; }
};

/// The piece of a row that a thread's row of the grid covers.
struct PiecePlace {
  bool exists;
  std::int64_t row, first, columns;
};
PRECAST_DEVICE PiecePlace piece_place(const RowPieces& cut, const RowPlace& place) {
  if (cut.pieces == 1) {
    const bool exists = place.row < cut.rows;
    return {exists, place.row, 0, exists ? cut.columns : 0};
  }
  const DividedIndex at = divide_index(place.row, cut.pieces);
  const std::int64_t first = planted<"first piece for all">(at.rest, std::int64_t{0}) * cut.piece;
  const std::int64_t left = planted<"piece past the end of the row">(cut.columns - first, cut.piece);
  const bool exists = at.quotient < cut.rows;
  return {exists, at.quotient, first, exists ? min_of(left, cut.piece) : 0};
}

/// Launches one of `kernel(tile)` for the pieces of rows.
template <class Start>
void for_tile_of_pieces(const RowPieces& cut, int run, Start&& start) {
  visit_row_tile(cut.piece, run, [&](auto tile) {
    if constexpr (row_tiles[tile].resident())
      start(tile, LaunchShape{blocks_of_rows(row_tiles[tile], cut.count()), row_tiles[tile].threads});
  });
}

/// The destination of the sums of pieces, and their divisor.
template <class To>
struct SumOutput {
  GlobalPointer<To> data;
  std::int64_t columns, row_stride;
  f32 divisor;
  PRECAST_DEVICE GlobalPointer<To> at(std::int64_t place) const {
    const DividedIndex index = divide_index(place, columns);
    return data + index.quotient * row_stride + index.rest;
  }
};

// Bytes moved: each value read once, the minimum, and 4 written for a row, or for a piece of 512 runs of 16
// bytes.
template <int Tile, int Count, bool Saturates, class From, class To>
PRECAST_KERNEL void PRECAST_LAUNCH_BOUNDS(row_tiles[Tile].threads, 1)
    sum_kernel(DeviceRows<const From> x, bool aligned, RowPieces cut, SumOutput<To> out) {
  const RowPlace place = row_place<row_tiles[Tile]>();
  const PiecePlace piece = piece_place(cut, place);
  const Row<row_tiles[Tile], Count, From> row(x.row(piece.row) + piece.first, piece.columns, place.lane,
                                              aligned);
  const f32 sum = row.template sum<struct Summed>([](f32 value) { return value; });
  if (piece.exists && place.lane == 0)
    *out.at(place.row) = round_to<To, Saturates>(
        with_planted_dtype<"result ignored">(planted<"sum not divided">(sum / out.divisor, sum)));
}

/// The sums of `rows` rows of x, each divided by `divisor`, to the elements of `out` in order. `rows` is
/// given because a view without columns has no rows.
template <bool Saturates, class From, class To>
void sum_rows(DeviceView<const From> x, std::int64_t rows, f32 divisor, DeviceView<To> out, Stream stream) {
  constexpr int count = values_at_once<From>;
  const RowPieces cut = RowPieces::of(rows, x.columns(), count);
  const auto start = [&]<bool saturates, class Sum>(std::bool_constant<saturates>, DeviceView<Sum> sums,
                                                    f32 by) {
    const SumOutput<Sum> output{pointer_to(sums), sums.columns(), sums.row_stride(), by};
    for_tile_of_pieces(cut, count, [&](auto tile, const LaunchShape& shape) {
      launch("sum", sum_kernel<tile, count, saturates, From, Sum>, shape, stream, DeviceRows<const From>(x),
             rows_are_aligned<count>(x), cut, output);
    });
  };
  if (cut.pieces == 1) return start(std::bool_constant<Saturates>{}, out, divisor);
  const StreamScope scope(stream);  // of the sums of pieces
  Tensor<f32, Memory> partial(Shape{rows, cut.pieces});
  start(std::false_type{}, partial.view(), 1.0f);
  sum_rows<Saturates>(std::as_const(partial).view(), rows, divisor, out, stream);
}

/// The sum of all values of a contiguous array over `divisor`.
template <bool Saturates, class From, class To>
void sum_all(DeviceView<const From> x, f32 divisor, DeviceView<To> out, Stream stream) {
  sum_rows<Saturates>(x.reshaped(Shape{1, x.elements()}), 1, divisor, out, stream);
}

}  // namespace precast::gpu::detail
