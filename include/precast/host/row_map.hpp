// map_values: f32 loops over arrays of any scalar dtype, cut into chunks that fit the nearest cache.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <precast/host/convert.hpp>
#include <precast/host/parallel.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

/// A piece of a row, as f32, that one call of a pointwise loop works on.
struct Piece {
  std::int64_t row = 0;
  std::int64_t first = 0;  ///< its first column
};

namespace detail {

template <bool Saturates, class T, class F, std::size_t... I, class... In>
void map_pieces(View<T> out, std::int64_t rows, std::int64_t columns, F&& f, std::index_sequence<I...>,
                In... in) {
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
        f(Piece{r, first}, computed,
          row_in_f32(std::span<const typename In::value_type>(in.data() + r * in.row_stride() + first, count),
                     scratch[I].data())
              .data()...);
        store_row<Saturates>(std::span<const f32>(computed), stored);
      }
    }
  });
}

}  // namespace detail

/// Calls `f(Piece, std::span<f32> out, const f32* in...)` for pieces of every row of `out` and the same
/// places of the inputs, which have out's rows and columns, and stores what f wrote, rounded once.
template <bool Saturates, class T, class F, class... In>
void map_rows(View<T> out, F&& f, In... in) {
  if (out.elements() == 0) return;
  detail::map_pieces<Saturates>(out, out.rows(), out.columns(), f, std::index_sequence_for<In...>{}, in...);
}

/// The same for an `f(std::span<f32> out, const f32* in...)` that does not care which row it is in.
template <bool Saturates, class T, class F, class... In>
void map_values(View<T> out, F&& f, In... in) {
  if (out.elements() == 0) return;
  const auto call = [&](Piece, std::span<f32> computed, const auto*... row) { f(computed, row...); };
  const bool whole = out.contiguous() && (in.contiguous() && ...);
  detail::map_pieces<Saturates>(out, whole ? 1 : out.rows(), whole ? out.elements() : out.columns(), call,
                                std::index_sequence_for<In...>{}, in...);
}

}  // namespace precast::host
