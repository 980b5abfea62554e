// Products that sum over the rows of the right operand, a b and a^T b, for gradients of linear layers,
// where both operands are new at each step.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <precast/host/matmul/matmul.hpp>
#include <precast/host/matmul/operands.hpp>
#include <precast/host/matmul/panel_product.hpp>
#include <precast/host/matmul/rounded_sums.hpp>
#include <precast/host/matmul/row_panels.hpp>
#include <precast/host/onednn/onednn.hpp>
#include <precast/host/rows/column_sums.hpp>
#include <precast/host/rows/for_each_row.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/host/runtime/thread_scratch.hpp>
#include <precast/problem/gradient_options.hpp>
#include <precast/tensor/rounded_up.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

namespace detail {

/// sums [rows, features] = a [rows, depth], whose rows are contiguous, times panels [first, first + count).
/// Where sums are narrower than f32, of one panel, whose width is that of the sums. The whole depth at
/// once: from strided rows oneDNN 2.6 multiplies such panels by a plain loop, at 1/300 of its speed.
template <class Types, OneDnnOperand Multiplied>
f32* sums_of_panels(HostView<const Multiplied> a, const RowPanels<Multiplied>& panels, std::int64_t first,
                    std::int64_t count) {
  const std::int64_t rows = a.rows(),
                     features = std::min(count * panels.width(), panels.columns() - first * panels.width());
  auto* const sums = reinterpret_cast<f32*>(
      thread_scratch<TileScratch>(static_cast<std::size_t>(rows * count * panels.width()) * sizeof(f32)));
  if constexpr (!std::is_same_v<typename Types::accumulate, f32>) {
    for (std::int64_t r = 0; r < rows; ++r)
      rounded_sums<typename Types::accumulate>(a.row(r).data(), panels.panel(first), a.columns(),
                                               panels.width(), sums + r * panels.width());
  } else {
    const auto product = product_of<Multiplied>(rows, features, a.columns(), panels.width());
    (*product)({{DNNL_ARG_SRC, &product->argument(DNNL_ARG_SRC), a.data()},
                {DNNL_ARG_WEIGHTS, &product->argument(DNNL_ARG_WEIGHTS), panels.panel(first)},
                {DNNL_ARG_DST, &product->argument(DNNL_ARG_DST), sums}},
               thread_scratch<OneDnnScratch>(product->scratch_bytes()));
  }
  return sums;
}

/// Counts, in a dry run, the scratch memory of sums_of_panels for `rows` rows and `count` panels at a time.
template <class Types, OneDnnOperand Multiplied>
void count_scratch_of_panels(HostView<const Multiplied> a, const RowPanels<Multiplied>& panels,
                             std::int64_t tasks, std::int64_t rows, std::int64_t count) {
  if (!DryRun::active()) return;
  scratch_memory<TileScratch>(tasks, rows * count * panels.width() * std::int64_t{sizeof(f32)});
  if constexpr (std::is_same_v<typename Types::accumulate, f32>) {
    const std::int64_t features = std::min(count * panels.width(), panels.columns());
    const auto product = product_of<Multiplied>(rows, features, a.columns(), panels.width());
    scratch_memory<OneDnnScratch>(tasks, static_cast<std::int64_t>(product->scratch_bytes()));
  }
}

/// out = a b, or added to it, of operands.
template <class Types, OneDnnOperand Multiplied>
void multiply_panels(HostView<const Multiplied> a, const RowPanels<Multiplied>& panels,
                     const GradientOptions& options, HostView<typename Types::result> out) {
  constexpr bool wide = std::is_same_v<typename Types::accumulate, f32>;
  const std::int64_t at_once = wide ? panels_at_once(a.columns(), PanelUse::in_place) : 1,
                     groups = ceil_divide(panels.panels(), at_once);
  const std::int64_t block = rows_per_block(a.rows(), a.columns(), groups, PanelUse::in_place),
                     tasks = ceil_divide(a.rows(), block) * groups;
  count_scratch_of_panels<Types, Multiplied>(a, panels, tasks, std::min(block, a.rows()),
                                             std::min(at_once, panels.panels()));
  parallel_for(tasks, [&](std::int64_t task) {
    const std::int64_t first_row = task / groups * block, first = task % groups * at_once;
    const std::int64_t rows = std::min(block, a.rows() - first_row),
                       count = std::min(at_once, panels.panels() - first), column = first * panels.width(),
                       features = std::min(count * panels.width(), panels.columns() - column);
    const std::int64_t stride = wide ? features : panels.width();
    const f32* const sums =
        sums_of_panels<Types, Multiplied>(a.rows_between(first_row, rows), panels, first, count);
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto to = out.row(first_row + r)
                          .subspan(static_cast<std::size_t>(column), static_cast<std::size_t>(features));
      for (std::size_t i = 0; i < to.size(); ++i)
        store_gradient<Types::saturate>(to[i], sums[r * stride + static_cast<std::int64_t>(i)],
                                        options.accumulate);
    }
  });
}

/// multiply_over_rows for a few rows: with so few products a sum, nothing is packed.
template <class Types, class A, class B>
void multiply_over_few_rows(HostView<const A> a, HostView<const B> b, const GradientOptions& options,
                            HostView<typename Types::result> out) {
  using Operand = typename Types::operand;
  const Operands<Operand, Types::saturate, f32, A> left(a);
  const Operands<Operand, Types::saturate, f32, B> right(b);
  parallel_for_rows(out.rows(), out.columns(), [&](std::int64_t begin, std::int64_t end) {
    std::array<f32, 512> sums;
    for (std::int64_t r = begin; r < end; ++r)
      for (std::size_t first = 0; first < out.row(r).size(); first += sums.size()) {
        const auto to = out.row(r).subspan(first, std::min(sums.size(), out.row(r).size() - first));
        sums.fill(0);
        for (std::int64_t k = 0; k < a.rows(); ++k) {
          const f32 factor = left.view().row(k)[static_cast<std::size_t>(r)];
          const f32* const row = right.view().row(k).data() + first;
          for (std::size_t i = 0; i < to.size(); ++i) sums[i] = std::fma(factor, row[i], sums[i]);
        }
        for (std::size_t i = 0; i < to.size(); ++i)
          store_gradient<Types::saturate>(to[i], sums[i], options.accumulate);
      }
  });
}

/// Rows of `depth` values that are transposed together: as many blocks as fit 32 MiB. All rows of a
/// vocabulary would take as much memory as the logits.
template <OneDnnOperand Multiplied>
std::int64_t rows_transposed_at_once(std::int64_t depth) {
  constexpr std::int64_t most_bytes = std::int64_t{32} << 20, fewest = 1024, multiple = 256;
  return std::max(fewest, most_bytes / (depth * std::int64_t{sizeof(Multiplied)}) / multiple * multiple);
}

}  // namespace detail

/// out [M, N] = a [M, K] b [K, N]. Operands are rounded to Types::operand, products are summed in
/// Types::accumulate, and results are rounded to Types::result once. Shapes must fit; ops check them.
template <class Types, class A, class B>
void multiply(HostView<const A> a, HostView<const B> b, HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  if (out.elements() == 0) return;
  if constexpr (std::is_same_v<typename Types::accumulate, f32>)
    if (out.rows() <= max_skinny_rows) return detail::few_rows_times_rows<Types>(a, b, out);
  using Operand = typename Types::operand;
  in_multiplied_dtype<Types>([&]<class Multiplied>(Multiplied) {
    const RowPanels<Multiplied> panels = RowPanels<Multiplied>::template of<Operand, Types::saturate>(b);
    const Operands<Operand, Types::saturate, Multiplied, A> operands(a);
    detail::multiply_panels<Types, Multiplied>(operands.view().reshaped(Shape{a.rows(), a.columns()}), panels,
                                               {}, out);
  });
}

/// out [M, N] = a^T b for a [K, M] and b [K, N], the sum over all rows; or added to what `out` holds. Rounded
/// as in `multiply`.
template <class Types, class A, class B>
void multiply_over_rows(HostView<const A> a, HostView<const B> b, const GradientOptions& options,
                        HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  if (out.elements() == 0) return;
  if (a.rows() == 0) {  // the empty sum
    if (!options.accumulate)
      for (std::int64_t r = 0; r < out.rows(); ++r)
        std::fill(out.row(r).begin(), out.row(r).end(), typename Types::result{});
    return;
  }
  if constexpr (std::is_same_v<typename Types::accumulate, f32>)
    if (a.rows() <= max_skinny_rows) return detail::multiply_over_few_rows<Types>(a, b, options, out);
  using Operand = typename Types::operand;
  in_multiplied_dtype<Types>([&]<class Multiplied>(Multiplied) {
    const RowPanels<Multiplied> panels = RowPanels<Multiplied>::template of<Operand, Types::saturate>(b);
    const std::int64_t depth = RowPanels<Multiplied>::padded(a.rows()),
                       at_once = detail::rows_transposed_at_once<Multiplied>(depth);
    for (std::int64_t first = 0; first < a.columns(); first += at_once) {
      const std::int64_t count = std::min(at_once, a.columns() - first);
      const HostTensor<Multiplied> transposed =
          detail::transposed_operands<Operand, Types::saturate, Multiplied>(a.columns_between(first, count),
                                                                            depth);
      detail::multiply_panels<Types, Multiplied>(transposed.view(), panels, options,
                                                 out.rows_between(first, count));
    }
  });
}

}  // namespace precast::host
