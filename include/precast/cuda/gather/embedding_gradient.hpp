// The gradient of an embedding's table: numbers, which are the host's, are sorted there, and the rows of each
// are added in their order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/runtime/device_memory.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/problem/gradient_kernels.hpp>
#include <precast/problem/narrow_steps.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::gpu {

namespace detail {

/// Rows of dy, those of one row of the table side by side, as many as travel with a launch.
struct SortedRows {
  static constexpr int most = 400;
  std::int32_t terms[most];    ///< rows of dy
  std::int32_t numbers[most];  ///< which of the table's rows that occur a term belongs to
  int count;
};

inline constexpr int embedding_gradient_threads = 128;

// Bytes moved: each row of dy read once; a sum read and written once for each launch that has a term of it.
template <class Types, class DY>
PRECAST_KERNEL PRECAST_LAUNCH_BOUNDS(embedding_gradient_threads,
                                     1) void sum_terms_kernel(GlobalPointer<const DY> dy, std::int64_t stride,
                                                              std::int64_t columns, GlobalPointer<f32> sums,
                                                              SortedRows rows) {
  const int first = block_index().y;
  const std::int32_t number = rows.numbers[first];
  // The first term of a row of the table adds all of them.
  if (first > 0 && planted<"each term alone">(rows.numbers[first - 1] == number, false)) return;
  const std::int64_t column = std::int64_t{block_index().x} * embedding_gradient_threads + thread_index();
  if (column >= columns) return;
  f32 sum = planted<"sum of earlier launches lost">(sums[number * columns + column], 0.0f);
  for (int i = first; i < rows.count && rows.numbers[i] == number; ++i)
    sum = planted<"accumulate ignored">(narrow_add<Types>(sum, to_f32(dy[rows.terms[i] * stride + column])),
                                        sum + to_f32(dy[rows.terms[i] * stride + column]));
  sums[number * columns + column] = sum;
}

/// Where a table's rows that occur are, as many as travel with a launch.
struct TableRows {
  static constexpr int most = 512;
  std::int32_t rows[most];
};

// Bytes moved: a sum read and a gradient written once for each value of a row that occurs.
template <bool Saturates, class To>
PRECAST_KERNEL PRECAST_LAUNCH_BOUNDS(embedding_gradient_threads,
                                     1) void store_rows_kernel(GlobalPointer<const f32> sums,
                                                               std::int64_t columns, std::int64_t stride,
                                                               bool accumulate, GlobalPointer<To> out,
                                                               TableRows table) {
  const std::int64_t column = std::int64_t{block_index().x} * embedding_gradient_threads + thread_index();
  if (column >= columns) return;
  const int number = block_index().y;
  const GlobalPointer<To> place = out + table.rows[number] * stride + column;
  const f32 sum = sums[number * columns + column];
  *place = round_to<To, Saturates>(planted<"gradient not added">(accumulate, false) ? to_f32(To{*place}) + sum
                                                                                    : sum);
}

// Bytes moved: each value written once.
template <class To>
PRECAST_KERNEL PRECAST_LAUNCH_BOUNDS(embedding_gradient_threads,
                                     1) void clear_rows_kernel(GlobalPointer<To> out, std::int64_t rows,
                                                               std::int64_t stride, std::int64_t columns) {
  const std::int64_t column = std::int64_t{block_index().x} * embedding_gradient_threads + thread_index();
  if (column >= columns) return;
  for (std::int64_t row = block_index().y; row < rows; row += grid_size().y)
    out[row * stride + column] = To{};
}

/// Rows of dy by the rows of the table that they belong to, and these.
struct SortedTerms {
  std::vector<std::int32_t> terms, numbers, table_rows;

  SortedTerms(std::span<const std::int32_t> ids) : terms(ids.size()) {
    std::iota(terms.begin(), terms.end(), 0);
    const auto id = [&](std::int32_t i) { return ids[static_cast<std::size_t>(i)]; };
    std::stable_sort(terms.begin(), terms.end(),
                     [&](std::int32_t a, std::int32_t b) { return id(a) < id(b); });
    for (const std::int32_t term : terms) {
      if (table_rows.empty() || table_rows.back() != id(term)) table_rows.push_back(id(term));
      numbers.push_back(static_cast<std::int32_t>(table_rows.size()) - 1);
    }
  }
};

}  // namespace detail

/// Row v of out = the sum of the rows i of dy with ids[i] = v, in the order of i; zeros where there is none.
/// Or added to what is there. The ids are rows of `out`; ops check them.
template <class Types, class DY>
void embedding_gradient(DeviceView<const DY> dy, std::span<const std::int32_t> ids,
                        const GradientOptions& options, DeviceView<typename Types::result> out,
                        Stream stream) {
  watch::ran_in<Types>();
  using To = typename Types::result;
  if (out.elements() == 0) return;
  constexpr int threads = detail::embedding_gradient_threads;
  const std::int64_t columns = out.columns();
  const auto across = static_cast<int>(ceil_divide(columns, threads));
  if (!options.accumulate)
    launch("clear_rows", detail::clear_rows_kernel<To>,
           {{across, static_cast<int>(min_of<std::int64_t>(out.rows(), 1024)), 1}, threads}, stream,
           pointer_to(out), out.rows(), out.row_stride(), columns);
  const detail::SortedTerms sorted(ids);
  const auto occurring = static_cast<std::int64_t>(sorted.table_rows.size());
  const StreamScope scope(stream);  // of the sums
  Tensor<f32, DeviceMemory> sums(Shape{occurring, columns});
  if (occurring > 0)
    launch("clear_sums", detail::clear_rows_kernel<f32>,
           {{across, static_cast<int>(min_of<std::int64_t>(occurring, 1024)), 1}, threads}, stream,
           pointer_to(sums.view()), occurring, columns, columns);
  for (std::size_t first = 0; first < ids.size(); first += detail::SortedRows::most) {
    const std::size_t some = std::min<std::size_t>(ids.size() - first, detail::SortedRows::most);
    detail::SortedRows part{};
    std::copy_n(sorted.terms.begin() + static_cast<std::ptrdiff_t>(first), some, part.terms);
    std::copy_n(sorted.numbers.begin() + static_cast<std::ptrdiff_t>(first), some, part.numbers);
    part.count = static_cast<int>(some);
    launch("sum_terms", detail::sum_terms_kernel<Types, DY>, {{across, part.count, 1}, threads}, stream,
           pointer_to(dy), dy.row_stride(), columns, pointer_to(sums.view()), part);
  }
  for (std::int64_t first = 0; first < occurring; first += detail::TableRows::most) {
    const auto some = min_of<std::int64_t>(occurring - first, detail::TableRows::most);
    detail::TableRows part{};
    std::copy_n(sorted.table_rows.begin() + first, some, part.rows);
    launch("store_rows", detail::store_rows_kernel<Types::saturate, To>,
           {{across, static_cast<int>(some), 1}, threads}, stream,
           pointer_to(std::as_const(sums).view().rows_between(first, some)), columns, out.row_stride(),
           options.accumulate, pointer_to(out), part);
  }
}

}  // namespace precast::gpu
