// Products whose right side is summed over its rows as they lie: a b and a^T b. What gradients of linear
// layers are made of, where both sides are new at each step.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include <precast/host/column_sums.hpp>
#include <precast/host/onednn.hpp>
#include <precast/host/operands.hpp>
#include <precast/host/panel_product.hpp>
#include <precast/host/parallel.hpp>
#include <precast/host/rounded_sums.hpp>
#include <precast/host/row_panels.hpp>
#include <precast/problem/gradient_options.hpp>
#include <precast/tensor/rounded_up.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

namespace detail {

/// dst [rows, features] in f32 = src [rows, depth], whose rows lie `stride` apart, times panels.
template <OneDnnOperand T>
std::shared_ptr<const onednn::Primitive> strided_product_of(std::int64_t rows, std::int64_t features,
                                                            std::int64_t depth, std::int64_t stride,
                                                            std::int64_t width) {
  using Key = std::array<std::int64_t, 5>;
  static onednn::Cache<Key, onednn::Primitive> cache(512);
  return cache.find_or_make({rows, features, depth, stride, width}, [&] {
    const std::string doing = "multiply " + std::to_string(rows) + " x " + std::to_string(depth) + " by " +
                              std::to_string(depth) + " x " + std::to_string(features);
    const auto src = onednn::strided(onednn::data_type<T>, {rows, depth}, {stride, 1});
    const auto weights = onednn::blocked(onednn::data_type<T>, {depth, features}, panel_layout<T>(width));
    const auto dst = onednn::strided(dnnl_f32, {rows, features}, {features, 1});
    dnnl_matmul_desc_t operation;
    onednn::check(dnnl_matmul_desc_init(&operation, &src, &weights, nullptr, &dst), doing);
    return onednn::Primitive(&operation, doing);
  });
}

struct PartScratch;

/// sums [rows, features] = a [rows, depth] times panels [first, first + count): of one chunk of the depth
/// after another, which are added. Where sums are narrower than f32, of one panel, whose width is that of the
/// sums.
template <class Types, OneDnnOperand Multiplied>
f32* sums_of_panels(HostView<const Multiplied> a, const RowPanels<Multiplied>& panels, std::int64_t first,
                    std::int64_t count) {
  const std::int64_t rows = a.rows(),
                     features = std::min(count * panels.width(), panels.columns() - first * panels.width());
  const auto bytes = static_cast<std::size_t>(rows * count * panels.width()) * sizeof(f32);
  auto* const sums = reinterpret_cast<f32*>(thread_scratch<TileScratch>(bytes));
  if constexpr (!std::is_same_v<typename Types::accumulate, f32>) {
    for (std::int64_t r = 0; r < rows; ++r)
      rounded_sums<typename Types::accumulate>(a.row(r).data(), panels.panel(0, first), a.columns(),
                                               panels.width(), sums + r * panels.width());
  } else {
    for (std::int64_t chunk = 0; chunk < panels.chunks(); ++chunk) {
      f32* const to = chunk == 0 ? sums : reinterpret_cast<f32*>(thread_scratch<PartScratch>(bytes));
      const std::int64_t begin = chunk * panels.chunk_depth();
      const auto product =
          strided_product_of<Multiplied>(rows, features, std::min(panels.chunk_depth(), a.columns() - begin),
                                         a.row_stride(), panels.width());
      (*product)({{DNNL_ARG_SRC, &product->argument(DNNL_ARG_SRC), a.data() + begin},
                  {DNNL_ARG_WEIGHTS, &product->argument(DNNL_ARG_WEIGHTS), panels.panel(chunk, first)},
                  {DNNL_ARG_DST, &product->argument(DNNL_ARG_DST), to}},
                 thread_scratch<OneDnnScratch>(product->scratch_bytes()));
      if (chunk > 0)
        for (std::int64_t i = 0; i < rows * features; ++i) sums[i] += to[i];
    }
  }
  return sums;
}

/// out = a b, or added to it, of operands.
template <class Types, OneDnnOperand Multiplied>
void multiply_panels(HostView<const Multiplied> a, const RowPanels<Multiplied>& panels, bool accumulate,
                     HostView<typename Types::result> out) {
  constexpr bool wide = std::is_same_v<typename Types::accumulate, f32>;
  const std::int64_t at_once = wide ? 2 : 1, groups = ceil_divide(panels.panels(), at_once);
  const std::int64_t block = rows_per_block(a.rows(), panels.chunk_depth(), groups, true);
  parallel_for(ceil_divide(a.rows(), block) * groups, [&](std::int64_t task) {
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
        store_gradient<Types::saturate>(to[i], sums[r * stride + static_cast<std::int64_t>(i)], accumulate);
    }
  });
}

/// The most of the summed dimension that is multiplied at a time; all of it where sums are narrow, whose
/// additions have one order.
template <class Types>
constexpr std::int64_t depth_at_once(std::int64_t depth) {
  return std::is_same_v<typename Types::accumulate, f32> ? std::min<std::int64_t>(depth, 1024) : depth;
}

}  // namespace detail

/// out [M, N] = a [M, K] b [K, N]. Operands are rounded to Types::operand, products are summed in
/// Types::accumulate, and results are rounded to Types::result once. Shapes must fit; ops check them.
template <class Types, class A, class B>
void multiply(HostView<const A> a, HostView<const B> b, HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  if (out.elements() == 0) return;
  using Operand = typename Types::operand;
  in_multiplied_dtype<Types>([&]<class Multiplied>(Multiplied) {
    const RowPanels<Multiplied> panels = RowPanels<Multiplied>::template of<Operand, Types::saturate>(
        b, detail::depth_at_once<Types>(b.rows()));
    const Operands<Operand, Types::saturate, Multiplied, A> operands(a);
    detail::multiply_panels<Types, Multiplied>(operands.view().reshaped(Shape{a.rows(), a.columns()}), panels,
                                               false, out);
  });
}

/// out [M, N] = a^T b for a [K, M] and b [K, N], the sum over all rows; or added to what `out` holds. Rounded
/// as in `multiply`.
template <class Types, class A, class B>
void multiply_over_rows(HostView<const A> a, HostView<const B> b, const GradientOptions& options,
                        HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  if (out.elements() == 0) return;
  if (a.rows() == 0) {  // a sum of nothing
    if (!options.accumulate)
      for (std::int64_t r = 0; r < out.rows(); ++r)
        std::fill(out.row(r).begin(), out.row(r).end(), typename Types::result{});
    return;
  }
  using Operand = typename Types::operand;
  in_multiplied_dtype<Types>([&]<class Multiplied>(Multiplied) {
    const RowPanels<Multiplied> panels = RowPanels<Multiplied>::template of<Operand, Types::saturate>(
        b, detail::depth_at_once<Types>(RowPanels<Multiplied>::padded(b.rows())));
    const HostTensor<Multiplied> turned = detail::turned_operands<Operand, Types::saturate, Multiplied>(
        a, RowPanels<Multiplied>::padded(a.rows()));
    detail::multiply_panels<Types, Multiplied>(turned.view(), panels, options.accumulate, out);
  });
}

}  // namespace precast::host
