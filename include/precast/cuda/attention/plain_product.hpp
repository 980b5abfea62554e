// The product of a block of plain attention: of queries and keys, and of weights and values.
#pragma once

#include <type_traits>

#include <precast/cuda/attention/attention_operands.hpp>
#include <precast/cuda/attention/fma_weights.hpp>
#include <precast/cuda/device/cp_async.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/device/operand.hpp>
#include <precast/cuda/device/side.hpp>
#include <precast/cuda/device/thread.hpp>
#include <precast/cuda/tile/shared_tile.hpp>
#include <precast/cuda/tile/sums_in_parts.hpp>
#include <precast/cuda/tile/tensor_core_products.hpp>
#include <precast/cuda/tile/tile_loader.hpp>
#include <precast/dtype/exact_operand.hpp>

namespace precast::gpu::detail {

/// Rows and columns of a result that a block of the products computes, a quarter of the rows a warp.
inline constexpr int plain_rows = 64, plain_columns = 64, plain_warps = 4;
inline constexpr int plain_threads = plain_warps * threads_per_warp;

/// A block's product over any depth, in two stages of shared memory. Tensor cores take 16-bit elements with
/// f32 sums; all else is f32 elements and FMA. `WholeWeights`: the left side is f32 and is multiplied in
/// parts.
template <class Operand, class Accumulate, bool OfValues, bool WholeWeights = false>
struct PlainProduct {
  static constexpr bool on_tensor_cores = sizeof(HeldDtype<Operand>) == 2 && std::is_same_v<Accumulate, f32>;
  static_assert(!WholeWeights || (on_tensor_cores && OfValues));
  using Element = std::conditional_t<on_tensor_cores, HeldDtype<Operand>, f32>;
  using LeftOperand = std::conditional_t<WholeWeights, f32, Operand>;
  using LeftElement = std::conditional_t<WholeWeights, f32, Element>;
  static constexpr int depth = 128 / static_cast<int>(sizeof(Element)), stages = 2;
  using Left = SharedTile<LeftElement, plain_rows, depth>;
  using Right = std::conditional_t<OfValues, SharedTile<Element, depth, plain_columns>,
                                   SharedTile<Element, plain_columns, depth>>;
  using Accumulator =
      std::conditional_t<on_tensor_cores, TensorCoreAccumulator<plain_rows / plain_warps, plain_columns>,
                         FmaAccumulator<plain_rows / plain_warps, plain_columns, OfValues ? 4 : 1, 8>>;
  static constexpr int left_bytes = stages * Left::size * static_cast<int>(sizeof(LeftElement));
  static constexpr int shared_bytes = left_bytes + stages * Right::size * static_cast<int>(sizeof(Element));
  /// The final factor of the product's sums.
  static constexpr f32 factor = factor_of_parts<Operand, WholeWeights>;

  /// sums += left right, where left is [plain_rows, total] from first_row on, and right [total,
  /// plain_columns] or its transpose, from first_column on.
  template <bool Saturates, class L, class R>
  static PRECAST_DEVICE void add(Accumulator& sums, const HeadRows<L>& left, int first_row,
                                 const HeadRows<R>& right, int first_column, int total) {
    const TileLoader<LeftOperand, Saturates, Left, plain_threads, HeadRows<L>> load_left(left);
    const TileLoader<Operand, Saturates, Right, plain_threads, HeadRows<R>> load_right(right);
    const auto left_tile = [](int step) {
      return Left{dynamic_shared<LeftElement>(
          sizeof(LeftElement) *
              static_cast<unsigned>(planted<"stage index">(step, step + step / 2) % stages * Left::size),
          Left::size)};
    };
    const auto right_tile = [](int step) {
      const std::size_t place = sizeof(Element) * static_cast<unsigned>(step % stages * Right::size);
      return Right{dynamic_shared<Element>(left_bytes + place, Right::size)};
    };
    const auto start = [&](int step) {
      if (step * depth >= total) return;
      load_left.start(left_tile(step), first_row, step * depth);
      load_right.start(right_tile(step), OfValues ? step * depth : first_column,
                       OfValues ? first_column : step * depth);
      cp_async_commit();
    };
    start(0);
    PRECAST_KEEP_LOOP
    for (int step = 0; step * depth < total; ++step) {
      cp_async_wait<0>();
      load_left.landed(left_tile(step));
      load_right.landed(right_tile(step));
      sync_block();  // the tiles are there for all, and all are done with the ones before, whose place is
                     // free
      start(step + 1);
      multiply(sums, left_tile(step), right_tile(step));
    }
  }

 private:
  static PRECAST_DEVICE void multiply(Accumulator& sums, Left left, Right right) {
    const int first_row = warp_index() * (plain_rows / plain_warps);
    if constexpr (WholeWeights)
      add_product<Operand>(sums, RowsInParts<Operand, Left>{left, first_row}, right);
    else if constexpr (on_tensor_cores && OfValues)
      add_product<Operand>(sums, LeftRows(left, first_row), right);
    else if constexpr (on_tensor_cores)
      add_product_transposed<Operand>(sums, LeftRows(left, first_row), right);
    else if constexpr (OfValues)
      add_product<Accumulate>(sums, StoredWeights<plain_rows, depth>{left, first_row}, right);
    else
      add_scores<Accumulate>(sums, left, first_row, right);
  }
};

/// The operand of plain attention's product of queries and keys.
template <class Types, class Q, class K>
using ScoresOperand =
    std::conditional_t<std::is_same_v<typename Types::accumulate, f32>,
                       ExactOperand<typename Types::operand, Q, K>, typename Types::operand>;

/// Plain attention's product of weights, stored as Inside, and values of V.
template <class Operand, class Accumulate, class Inside, class V>
struct ValuesProductOf {
  using OfValues = MultipliedHeads<Operand, V, V, V>;
  static constexpr bool whole_weights =
      OfValues::whole_weights && std::is_same_v<Accumulate, f32> && std::is_same_v<Inside, f32>;
  using type = PlainProduct<std::conditional_t<whole_weights, typename OfValues::type, Operand>, Accumulate,
                            true, whole_weights>;
};
template <class Operand, class Accumulate, class Inside, class V>
using ValuesProduct = typename ValuesProductOf<Operand, Accumulate, Inside, V>::type;

}  // namespace precast::gpu::detail
