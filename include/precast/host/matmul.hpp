// x W^T + b on the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/host/few_rows.hpp>
#include <precast/host/onednn.hpp>
#include <precast/host/operands.hpp>
#include <precast/host/panel_product.hpp>
#include <precast/host/parallel.hpp>
#include <precast/tensor/view.hpp>

namespace precast::host {

namespace detail {

template <class Types, OneDnnOperand Multiplied, class X>
void blocked_matmul(View<const X> x, View<const typename Types::storage> weight, const Epilogue& epilogue,
                    View<typename Types::result> out) {
  const Operands<typename Types::operand, Types::saturate, Multiplied, X> operands(x);
  const View<const Multiplied> src = operands.view();
  const PanelProduct<Types, Multiplied> product(weight, epilogue, src.rows(), src.row_stride());
  const std::int64_t panels = product.panels();
  parallel_for(product.blocks() * panels, [&](std::int64_t task) {
    const std::int64_t block = task / panels;
    product.run(block, task % panels, src.row(product.first_row(block)).data(), out);
  });
}

template <class Types, class X>
void few_rows_matmul(View<const X> x, View<const typename Types::storage> weight, const Epilogue& epilogue,
                     View<typename Types::result> out) {
  const Operands<typename Types::operand, Types::saturate, f32, X> operands(x);
  constexpr std::int64_t panel = 64;
  const std::int64_t features = weight.rows();
  parallel_for((features + panel - 1) / panel, [&](std::int64_t task) {
    const std::int64_t first = task * panel, count = std::min(panel, features - first);
    f32 tile[most_few_rows * panel];
    few_rows_product<typename Types::operand, Types::saturate>(
        operands.view(), weight.rows_between(first, count), tile, panel);
    store_tile<Types>(tile, panel, first, epilogue,
                      out.rows_between(0, out.rows()).columns_between(first, count));
  });
}

}  // namespace detail

/// out [rows, features] = activate(x [rows, columns] weight [features, columns]^T + bias). Operands are
/// rounded to Types::operand, products are summed in Types::accumulate, and results are rounded to
/// Types::result once. Shapes must fit; ops check them.
template <class Types, class X>
void matmul_transposed(View<const X> x, View<const typename Types::storage> weight, const Epilogue& epilogue,
                       View<typename Types::result> out) {
  if (out.elements() == 0) return;
  constexpr bool in_f32 = std::is_same_v<typename Types::accumulate, f32>;
  const bool in_bf16 = in_f32 && std::is_same_v<typename Types::operand, bf16> && multiplies_bf16();
  if constexpr (in_f32)
    if (out.rows() <= (in_bf16 ? most_few_rows_in_bf16 : most_few_rows))
      return detail::few_rows_matmul<Types>(x, weight, epilogue, out);
  if constexpr (in_f32 && std::is_same_v<typename Types::operand, bf16>)
    if (in_bf16) return detail::blocked_matmul<Types, bf16>(x, weight, epilogue, out);
  detail::blocked_matmul<Types, f32>(x, weight, epilogue, out);
}

}  // namespace precast::host
