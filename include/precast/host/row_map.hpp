// map_values: f32 loops over arrays of any scalar dtype, cut into chunks that fit the nearest cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <precast/host/convert.hpp>
#include <precast/host/parallel.hpp>
#include <precast/problem/broadcast.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

namespace detail {

template <class F, class... In>
void apply_row(const F& function, std::span<f32> out, const In*... in) {
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = function(in[i]...);
}

/// Where an input's values for a row of the result are.
template <class T>
const T* row_of(const View<const T>& in, std::int64_t row) {
  return in.data() + row * in.row_stride();
}
template <class T>
const std::remove_const_t<T>* row_of(const RowBroadcast<T>& in, std::int64_t row) {
  return in.values.data() + row / in.rows_each % in.values.rows() * in.values.row_stride();
}

template <class T>
bool is_one_run(const View<const T>& in) {
  return in.contiguous();
}
template <class T>
bool is_one_run(const RowBroadcast<T>&) {
  return false;
}

template <bool Saturates, class T, class F, std::size_t... I, class... In>
void map_pieces(View<T> out, std::int64_t rows, std::int64_t columns, const F& function,
                std::index_sequence<I...>, const In&... in) {
  const std::int64_t chunk = std::min(columns, values_per_chunk);
  const std::int64_t chunks = (columns + chunk - 1) / chunk;
  // A task takes several rows where rows are short, and several chunks where they are not.
  const std::int64_t rows_per_task = std::max<std::int64_t>(1, 8 * values_per_chunk / columns);
  const std::int64_t chunks_per_task = chunks > 1 ? std::min<std::int64_t>(chunks, 8) : 1;
  const std::int64_t tasks_across = (chunks + chunks_per_task - 1) / chunks_per_task;
  parallel_for((rows + rows_per_task - 1) / rows_per_task * tasks_across, [&](std::int64_t task) {
    alignas(64) std::array<std::array<f32, values_per_chunk>, sizeof...(In) + 1> scratch;
    const std::int64_t begin = task / tasks_across * rows_per_task,
                       end = std::min(rows, begin + rows_per_task);
    const std::int64_t left = task % tasks_across * chunks_per_task * chunk;
    const std::int64_t right = std::min(columns, left + chunks_per_task * chunk);
    for (std::int64_t r = begin; r < end; ++r) {
      for (std::int64_t first = left; first < right; first += chunk) {
        const auto count = static_cast<std::size_t>(std::min(chunk, right - first));
        const std::span<T> stored(out.data() + r * out.row_stride() + first, count);
        const std::span<f32> computed = row_to_compute(stored, scratch[sizeof...(In)].data());
        apply_row(function, computed,
                  row_in_f32(std::span<const typename In::value_type>(row_of(in, r) + first, count),
                             scratch[I].data())
                      .data()...);
        store_row<Saturates>(std::span<const f32>(computed), stored);
      }
    }
  });
}

}  // namespace detail

/// out = function(in...), value by value in f32, rounded once. `function` is one of problem/elementwise.hpp.
/// Inputs are View<const T> with out's rows and columns, or RowBroadcast with its columns; one that is out
/// itself is overwritten.
template <bool Saturates, class T, class F, class... In>
void map_values(View<T> out, const F& function, const In&... in) {
  if (out.elements() == 0) return;
  const bool whole = out.contiguous() && (detail::is_one_run(in) && ...);
  detail::map_pieces<Saturates>(out, whole ? 1 : out.rows(), whole ? out.elements() : out.columns(), function,
                                std::index_sequence_for<In...>{}, in...);
}

}  // namespace precast::host
