// The products of a warp in attention and in its gradients.
#pragma once

#include <type_traits>

#include <precast/cuda/attention/fma_weights.hpp>
#include <precast/cuda/device/operand.hpp>
#include <precast/cuda/tile/sums_in_parts.hpp>
#include <precast/cuda/tile/tensor_core_products.hpp>

namespace precast::gpu::detail {

/// Products of a warp's own rows with a passing tile of Others rows, and of these sums with a passing tile:
/// on tensor cores, or where operands are f32, by fused multiply-adds.
/// `WholeWeights`: weights are not rounded to Operand, which keys and values have, but multiplied in parts.
template <class Operand, int Rows, int Others, int Width, bool Saturates = false, bool WholeWeights = false>
struct AttentionProducts {
  static constexpr bool on_tensor_cores = !std::is_same_v<MultipliedDtype<Operand>, f32>;
  static_assert(Rows == 16 || (Rows == 32 && on_tensor_cores),
                "AttentionProducts: a warp has 16 rows, or on tensor cores 32.");
  using Scores = std::conditional_t<on_tensor_cores, TensorCoreAccumulator<Rows, Others>, FmaScores<Others>>;
  using Results = std::conditional_t<on_tensor_cores, TensorCoreAccumulator<Rows, Width>,
                                     FmaAccumulator<16, Width, 4, 8>>;

  using Weights = std::conditional_t<WholeWeights, SumsInParts<Operand, Rows, Others>,
                                     SumsAsRows<Operand, Rows, Others, Saturates>>;

  /// to += own other^T, for the warp's rows of `own` from first_row on.
  template <class Own, class Other>
  static PRECAST_DEVICE void scores(Scores& to, Own own, int first_row, Other other) {
    if constexpr (on_tensor_cores)
      add_product_transposed<Operand>(to, LeftRows(own, first_row), other);
    else
      add_scores<f32>(to, own, first_row, other);
  }
  /// to += weights other, weights rounded to Operand; with WholeWeights unrounded, times scale_of_parts.
  template <class Other>
  static PRECAST_DEVICE void results(Results& to, const Scores& weights, Other other) {
    if constexpr (on_tensor_cores)
      add_product<Operand>(to, Weights{weights}, other);
    else
      add_product<f32>(to, HeldWeights<Operand, Others>{weights}, other);
  }
};

}  // namespace precast::gpu::detail
