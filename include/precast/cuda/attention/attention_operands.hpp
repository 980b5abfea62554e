// Arguments of attention kernels: heads in global memory, and an attention's sizes.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/tile/matrix_rows.hpp>
#include <precast/dtype/exact_operand.hpp>
#include <precast/error.hpp>
#include <precast/problem/attention_problem.hpp>

namespace precast::gpu::detail {

/// The rows of a head, or of scratch. Where they can be moved 16 bytes at a time, no chunk is cut off.
template <class T>
using HeadRows = MatrixRows<T, true>;

/// A HeadsView in global memory.
template <class T>
struct Heads {
  GlobalPointer<T> data;
  std::int64_t stride, head_stride, batch_stride;  ///< from one row to the next, and so on
  int sequence, width;
  bool aligned;

  /// The first value of a head of one sample.
  PRECAST_DEVICE GlobalPointer<T> first(int batch, int head) const {
    return data + (batch * batch_stride + head * head_stride);
  }
  PRECAST_DEVICE HeadRows<std::remove_const_t<T>> rows(int batch, int head) const {
    return {first(batch, head), sequence, stride, width, aligned};
  }
};

/// An AttentionProblem as kernels take it.
struct AttentionShape {
  int batch, heads, heads_kv, queries, keys, width, width_v;
  f32 scale;
  bool causal, masks;
  GlobalPointer<const f32> bias;
  std::int64_t bias_stride;
  bool biased;

  /// The head of keys and values that a head of queries attends to.
  PRECAST_DEVICE int kv_head(int head) const { return head / (heads / heads_kv); }
  /// Whether a query may see a key, both of which must exist.
  PRECAST_DEVICE bool sees(std::int64_t query, std::int64_t key) const {
    return !planted<"causal ignored">(causal, false) || key <= query;
  }
  /// How many of the keys query `query` may see.
  PRECAST_DEVICE int keys_seen_by(int query) const { return causal && query + 1 < keys ? query + 1 : keys; }
  PRECAST_DEVICE GlobalPointer<const f32> bias_row(int head, int query) const {
    return bias + (static_cast<std::int64_t>(head) * queries + query) * bias_stride;
  }
  /// The place of a query of a head among all rows of scores.
  PRECAST_DEVICE std::int64_t row_of_scores(std::int64_t sample, std::int64_t head,
                                            std::int64_t query) const {
    return (sample * heads + head) * queries + query;
  }
};

/// The number of values from a view's first to its last.
template <class T>
std::int64_t spanned(const DeviceView<T>& view) {
  return view.elements() == 0 ? 0 : (view.rows() - 1) * view.row_stride() + view.columns();
}

inline int checked_int(std::int64_t count, const char* of) {
  if (count > std::numeric_limits<int>::max() - (1 << 16))
    throw ShapeError("attention: " + std::to_string(count) + " " + of + " are more than a kernel can count");
  return static_cast<int>(count);
}

/// Whether rows of `columns` values, `stride` apart, can be moved 16 bytes at a time.
template <class T>
bool in_whole_vectors(const T* data, std::int64_t stride, std::int64_t columns) {
  constexpr std::int64_t count = widest_vector<T>;
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && stride % count == 0 && columns % count == 0;
}

/// Whether the rows of all heads can be moved 16 bytes at a time.
template <class T>
bool in_whole_vectors(const DeviceHeadsView<T>& view) {
  constexpr std::int64_t count = widest_vector<std::remove_const_t<T>>;
  const HeadsStrides& strides = view.strides();
  return in_whole_vectors(view.data(), strides.row, view.width()) &&
         (view.heads() == 1 || strides.head % count == 0) &&
         (view.batch() == 1 || strides.batch % count == 0);
}

template <class T>
Heads<T> heads_in(const DeviceHeadsView<T>& view) {
  const HeadsStrides& strides = view.strides();
  return {global_pointer(view.data(), view.spanned()),
          strides.row,
          strides.head,
          strides.batch,
          checked_int(view.rows(), "rows"),
          checked_int(view.width(), "columns"),
          in_whole_vectors(view)};
}

inline AttentionShape shape_of(const AttentionProblem& problem) {
  return {checked_int(problem.batch, "samples"),
          checked_int(problem.heads, "heads"),
          checked_int(problem.heads_kv, "heads"),
          checked_int(problem.queries, "queries"),
          checked_int(problem.keys, "keys"),
          checked_int(problem.width, "columns"),
          checked_int(problem.width_v, "columns"),
          problem.scale,
          problem.causal,
          problem.masks(),
          global_pointer(problem.bias.data(), spanned(problem.bias)),
          problem.bias.row_stride(),
          problem.bias.data() != nullptr};
}

/// The dtype in which attention multiplies, and whether its weights are in parts: they are where operands
/// are f32, and multiplying queries, keys and values in 16 bits is as exact.
template <ScalarDtype Operand, class Q, class K, class V>
struct MultipliedHeads {
  using Exact = ExactOperand<Operand, Q, K>;
  static constexpr bool whole_weights =
      std::is_same_v<Operand, f32> && !std::is_same_v<Exact, f32> && widens_exactly<Exact, V>;
  using type = std::conditional_t<whole_weights, Exact, Operand>;
};

/// Stores a lane's sums of one row, scaled and rounded once: `columns` of the row exist.
template <bool Saturates, class SumsOfRows, class Result>
PRECAST_DEVICE void store_sums(SumsOfRows& sums, int i, f32 factor, GlobalPointer<Result> row, int columns,
                               bool aligned) {
  constexpr int run = SumsOfRows::run;
  PRECAST_UNROLL
  for (int j = 0; j < SumsOfRows::columns; j += run) {
    const int column = SumsOfRows::column(j);
    Vector<Result, run> values;
    PRECAST_UNROLL
    for (int e = 0; e < run; ++e)
      values[e] =
          round_to<Result, Saturates>(with_planted_dtype<"result ignored">(sums.at(i, j + e) * factor));
    if (aligned && column < columns) {
      store_vector_global(row + column, values);
    } else {
      PRECAST_UNROLL
      for (int e = 0; e < run; ++e)
        if (column + e < planted<"columns of a head">(columns, columns + 1)) row[column + e] = values[e];
    }
  }
}

}  // namespace precast::gpu::detail
