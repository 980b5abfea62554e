// map_values: a function of f32 values over arrays of any scalar dtype, in pieces that fit the L1 cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <precast/dtype/exact_arithmetic.hpp>
#include <precast/host/pointwise/convert_values.hpp>
#include <precast/host/rows/for_each_row.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/problem/broadcast.hpp>
#include <precast/problem/elementwise.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

namespace detail {

PRECAST_EXACT_ARITHMETIC_BEGIN

/// out[i] = function(in[i], ...). Not inlined: a file holds the loop once for all dtypes, and a call for a
/// piece of 2048 values costs nothing. By value: its members must not be reloaded after each store.
template <class F, class... In>
[[gnu::noinline]] void apply_to_row(F function, std::span<f32> out, const In*... in) {
  f32* const to = out.data();
  const std::size_t count = out.size();
#if !defined(__clang__)
#pragma GCC ivdep  // an input is out itself or apart from it
#endif
  for (std::size_t i = 0; i < count; ++i) to[i] = function(in[i]...);
}

PRECAST_EXACT_ARITHMETIC_END

template <class T>
const T* row_of(const HostView<const T>& view, std::int64_t row) {
  return view.data() + row * view.row_stride();
}
template <class T>
const T* row_of(const RowBroadcast<T>& broadcast, std::int64_t row) {
  return row_of(broadcast.values, row / broadcast.rows_each % broadcast.values.rows());
}
/// Shared rows as f32, so that they are widened once and not for each of the rows that share them.
struct WideBroadcast {
  using value_type = f32;
  HostTensor<f32> values;
  std::int64_t rows_each;
};
inline const f32* row_of(const WideBroadcast& broadcast, std::int64_t row) {
  return row_of(RowBroadcast<f32>{broadcast.values.view(), broadcast.rows_each}, row);
}

template <class T>
const HostView<const T>& widened_rows(const HostView<const T>& view) {
  return view;
}
inline const RowBroadcast<f32>& widened_rows(const RowBroadcast<f32>& broadcast) { return broadcast; }
template <class T>
WideBroadcast widened_rows(const RowBroadcast<T>& broadcast) {
  WideBroadcast wide{HostTensor<f32>(broadcast.values.shape()), broadcast.rows_each};
  convert_values<f32, false>(broadcast.values, wide.values.view());
  return wide;
}

template <bool Saturates, class T, class F, std::size_t... I, class... In>
void map_pieces(HostView<T> out, std::int64_t rows, std::int64_t columns, const F& function,
                std::index_sequence<I...>, const In&... in) {
  const std::int64_t piece = std::min(columns, values_per_chunk);
  const std::int64_t pieces = ceil_divide(columns, piece);
  // A task takes several rows where rows are short, and several pieces where they are not.
  const std::int64_t rows_per_task = rows_of_task(columns);
  const std::int64_t pieces_per_task = pieces > 1 ? std::min<std::int64_t>(pieces, 8) : 1;
  const std::int64_t tasks_across = ceil_divide(pieces, pieces_per_task);
  parallel_for(ceil_divide(rows, rows_per_task) * tasks_across, [&](std::int64_t task) {
    alignas(64) std::array<std::array<f32, values_per_chunk>, sizeof...(In) + 1> scratch;
    const std::int64_t begin = task / tasks_across * rows_per_task,
                       end = std::min(rows, begin + rows_per_task);
    const std::int64_t left = task % tasks_across * pieces_per_task * piece;
    const std::int64_t right = std::min(columns, left + pieces_per_task * piece);
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t first = left; first < right; first += piece) {
        const auto count = static_cast<std::size_t>(std::min(piece, right - first));
        const std::span<T> stored(out.data() + r * out.row_stride() + first, count);
        const std::span<f32> computed = row_to_compute(stored, scratch[sizeof...(In)].data());
        apply_to_row(function, computed,
                     row_in_f32(std::span<const typename In::value_type>(row_of(in, r) + first, count),
                                scratch[I].data())
                         .data()...);
        store_row<Saturates>(std::span<const f32>(computed), stored);
      }
    }
  });
}

}  // namespace detail

/// As problem/broadcast.hpp has it.
template <class Types, class F, class... In>
void map_values(HostView<typename Types::result> out, const F& function, const In&... in) {
  watch::ran_in<Types>();
  if (out.elements() == 0) return;
  const bool whole = out.contiguous() && (is_one_run(in) && ...);
  detail::map_pieces<Types::saturate>(out, whole ? 1 : out.rows(), whole ? out.elements() : out.columns(),
                                      elementwise::in_steps<typename Types::inside>(function),
                                      std::index_sequence_for<In...>{}, detail::widened_rows(in)...);
}

/// Copies x into `out`, whose shape may differ, but has as many rows of as many columns,
/// value by value in row-major order.
template <class Types, class From>
void copy_values(HostView<const From> x, HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  convert_values<typename Types::result, Types::saturate>(x, out);
}

}  // namespace precast::host
