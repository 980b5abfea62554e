// x W^T + b, and a b, on the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/host/blocks/block_gemv.hpp>
#include <precast/host/matmul/count_inputs.hpp>
#include <precast/host/matmul/operands.hpp>
#include <precast/host/matmul/packed_weight.hpp>
#include <precast/host/matmul/panel_product.hpp>
#include <precast/host/matmul/skinny_gemm.hpp>
#include <precast/host/matmul/tiled_operands.hpp>
#include <precast/host/onednn/onednn.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/host/simd/tile_registers.hpp>
#include <precast/tensor/block_view.hpp>
#include <precast/tensor/rounded_up.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

namespace detail {

template <class Types, OneDnnOperand Multiplied, class X>
void blocked_matmul(HostView<const X> x, const PackedWeight<typename Types::storage>& weight,
                    const Epilogue& epilogue, HostView<typename Types::result> out) {
  const PanelProduct<Types, Multiplied> product(weight, epilogue, x.rows());
  const auto multiply = [&](const auto& first_row_at) {
    const std::int64_t panels = product.panels();
    parallel_for(product.blocks() * panels, [&](std::int64_t task) {
      const std::int64_t block = task / panels;
      product.run(block, task % panels, first_row_at(product.first_row(block)), out);
    });
  };
  using Operand = typename Types::operand;
  if constexpr (fits_tile_registers<Multiplied>)
    if (multiplies_in_tiles<Types>()) {
      const TiledOperands<Operand, Types::saturate, X> operands(x);
      return multiply([&](std::int64_t row) { return operands.from_row(row); });
    }
  const Operands<Operand, Types::saturate, Multiplied, X> operands(x);
  multiply([&](std::int64_t row) { return operands.view().row(row).data(); });
}

/// The BlockGemv that multiplies few rows by the encoded blocks of a weight; empty where the weight must be
/// decoded.
template <class Types, OneDnnOperand Multiplied>
BlockGemv<Multiplied> block_gemv_of(const PackedWeight<typename Types::storage>& weight) {
  if constexpr (codes_are_operands<typename Types::operand>)
    if (weight.decoder()) return block_gemv_for<Multiplied>(weight.decoder()->format.name);
  return {};
}

/// skinny_matmul with a weight in encoded blocks.
template <class Types, OneDnnOperand Multiplied>
void block_matmul(HostView<const Multiplied> x, const BlockGemv<Multiplied>& gemv,
                  const PackedWeight<typename Types::storage>& weight, const Epilogue& epilogue,
                  HostView<typename Types::result> out) {
  // BlockGemv takes 1, 2 or 4 rows: three get a row of zeros.
  const std::int64_t rows = x.rows() == 3 ? 4 : x.rows(), row_bytes = gemv.row_bytes(weight.columns());
  Buffer arranged(static_cast<std::size_t>(rows * row_bytes));
  parallel_for(rows, [&](std::int64_t r) {
    std::byte* const to = arranged.data() + r * row_bytes;
    if (r < x.rows())
      gemv.arrange(x.row(r), to);
    else
      std::fill_n(to, row_bytes, std::byte{});
  });
  parallel_for(weight.panels(), [&](std::int64_t panel) {
    const std::int64_t first = panel * widest_panel,
                       count = std::min(widest_panel, weight.features() - first);
    alignas(64) f32 tile[max_skinny_rows * widest_panel];
    gemv.multiply(weight.rows().from_row(first), count, weight.columns(), arranged.data(), rows, tile,
                  weight.panel_width());
    store_tile<Types>(tile, weight.panel_width(), first, epilogue,
                      out.rows_between(0, out.rows()).columns_between(first, count));
  });
}

/// Stores the results of few rows, one panel of features at a time:
/// `sums_of(first_feature, count, width, sums)` writes the sums of a panel to sums[row][width].
template <class Types, class SumsOf>
void store_skinny_sums(const Epilogue& epilogue, HostView<typename Types::result> out,
                       const SumsOf& sums_of) {
  const std::int64_t width = std::min(widest_panel, rounded_up(out.columns(), 16));
  parallel_for(ceil_divide(out.columns(), width), [&](std::int64_t panel) {
    const std::int64_t first = panel * width, count = std::min(width, out.columns() - first);
    alignas(64) f32 tile[max_skinny_rows * widest_panel];
    sums_of(first, count, width, tile);
    store_tile<Types>(tile, width, first, epilogue,
                      out.rows_between(0, out.rows()).columns_between(first, count));
  });
}

template <class Types, OneDnnOperand Multiplied, class X>
void skinny_matmul(HostView<const X> x, const PackedWeight<typename Types::storage>& weight,
                   const Epilogue& epilogue, HostView<typename Types::result> out) {
  const Operands<typename Types::operand, Types::saturate, Multiplied, X> operands(x);
  if constexpr (ScalarDtype<typename Types::storage>)
    if (const auto gemv = block_gemv_of<Types, Multiplied>(weight); gemv.multiply)
      return block_matmul<Types, Multiplied>(operands.view(), gemv, weight, epilogue, out);
  store_skinny_sums<Types>(
      epilogue, out, [&](std::int64_t first, std::int64_t, std::int64_t width, f32* sums) {
        skinny_gemm<typename Types::operand, Types::saturate>(operands.view(), weight, first / width, sums);
      });
}

/// Calls `multiply(operands)` with few rows of x as operands for an unpacked matrix: in bf16 where this CPU
/// multiplies bf16 pairs, else in f32.
template <class Types, class X, class Multiply>
void with_skinny_operands(HostView<const X> x, const Multiply& multiply) {
  const auto in = [&]<class Multiplied>(Multiplied) {
    const Operands<typename Types::operand, Types::saturate, Multiplied, X> operands(x);
    multiply(operands.view());
  };
  if constexpr (skinny_in_pairs<Types>)
    if (columns_at_once_for<Types>() == 2) return in(bf16{});
  in(f32{});
}

/// out = x b for few rows of x and an unpacked matrix b [columns, features].
template <class Types, class X>
void few_rows_times_rows(HostView<const X> x, HostView<const typename Types::storage> b,
                         HostView<typename Types::result> out) {
  with_skinny_operands<Types>(x, [&](const auto& operands) {
    store_skinny_sums<Types>(
        Epilogue{}, out, [&](std::int64_t first, std::int64_t, std::int64_t width, f32* sums) {
          skinny_gemm_of_rows<typename Types::operand, Types::saturate>(operands, b, first, width, sums);
        });
  });
}

}  // namespace detail

/// out [rows, features] = activate(x [rows, columns] weight [features, columns]^T + bias). Operands are
/// rounded to Types::operand (for few rows, codes of blocks stay as they are), products are summed in
/// Types::accumulate, and results are rounded to Types::result once. Shapes must fit; ops check them.
template <class Types, class X>
void matmul_transposed(HostView<const X> x, const PackedWeight<typename Types::storage>& weight,
                       const Epilogue& epilogue, HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  if (out.elements() == 0) return;
  count_inputs(x);
  if constexpr (std::is_same_v<typename Types::accumulate, f32>)
    if (out.rows() <= max_skinny_rows) {
      if constexpr (skinny_in_pairs<Types>)
        if (weight.columns_at_once() == 2)
          return detail::skinny_matmul<Types, bf16>(x, weight, epilogue, out);
      return detail::skinny_matmul<Types, f32>(x, weight, epilogue, out);
    }
  in_multiplied_dtype<Types>([&]<class Multiplied>(Multiplied) {
    detail::blocked_matmul<Types, Multiplied>(x, weight, epilogue, out);
  });
}

/// The same for a weight [features, columns] read in place: few rows of x are multiplied by it directly;
/// for more, blocks are copied and scalars packed.
template <class Types, class X>
void matmul_transposed(HostView<const X> x, HostStoredView<const typename Types::storage> weight,
                       const Epilogue& epilogue, HostView<typename Types::result> out) {
  using Storage = typename Types::storage;
  if constexpr (ScalarDtype<Storage> && std::is_same_v<typename Types::accumulate, f32>)
    if (out.rows() <= max_skinny_rows) {
      watch::ran_in<Types>();
      if (out.elements() == 0) return;
      count_inputs(x);
      return detail::with_skinny_operands<Types>(x, [&](const auto& operands) {
        detail::store_skinny_sums<Types>(
            epilogue, out, [&](std::int64_t first, std::int64_t count, std::int64_t width, f32* sums) {
              skinny_gemm_of_features<typename Types::operand, Types::saturate>(
                  operands, weight.rows_between(first, count), width, sums);
            });
      });
    }
  matmul_transposed<Types>(x, PackedWeight<Storage>::template borrowed<Types>(weight), epilogue, out);
}

/// out [M, N] = a [M, K] b [K, N]: matmul_transposed with b transposed, the same bits except for few rows,
/// which read b in place; for more it is packed.
template <class Types, class A>
void matmul(HostView<const A> a, HostView<const typename Types::storage> b,
            HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  if (out.elements() == 0) return;
  if constexpr (std::is_same_v<typename Types::accumulate, f32>)
    if (out.rows() <= max_skinny_rows) {
      count_inputs(a);
      return detail::few_rows_times_rows<Types>(a, b, out);
    }
  using Packed = PackedWeight<typename Types::storage>;
  matmul_transposed<Types>(a, Packed::of_columns(b, columns_at_once_for<Types>()), Epilogue{}, out);
}

}  // namespace precast::host
