// Every op once: as a function that returns its result, and as one that writes into a view; with or without a
// Context before the other arguments.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <support/arrays.hpp>

#include <precast/ops/add_per_sample.hpp>
#include <precast/ops/attention.hpp>
#include <precast/ops/cast.hpp>
#include <precast/ops/conv.hpp>
#include <precast/ops/dropout.hpp>
#include <precast/ops/embedding.hpp>
#include <precast/ops/group_norm_with.hpp>
#include <precast/ops/linear.hpp>
#include <precast/ops/linear_input_gradient.hpp>
#include <precast/ops/loss.hpp>
#include <precast/ops/matmul.hpp>
#include <precast/ops/norm.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/reduction.hpp>
#include <precast/ops/resample.hpp>
#include <precast/ops/rotary.hpp>
#include <precast/ops/softmax.hpp>
#include <precast/ops/timestep_embedding.hpp>

namespace precast::testing {

/// Calls `check(name, op, into)` for each op under a policy of one dtype: `op(context...)` gives a tensor,
/// and `into(out, context...)` writes the same into a view.
template <class P, class Check>
void for_every_op(Check&& check) {
  using T = typename P::storage;
  const auto x = sent(random_tensor<T>({2, 3, 8}, 1)), y = sent(random_tensor<T>({2, 3, 8}, 2));
  const auto image = sent(random_tensor<T>({1, 4, 5, 8}, 3));
  const auto weight = sent(random_tensor<T>({8}, 4)), bias = sent(random_tensor<T>({8}, 5));
  const auto rows = sent(random_tensor<T>({2, 8}, 6)), matrix = sent(random_tensor<T>({8, 6}, 7)),
             turned = sent(random_tensor<T>({6, 8}, 8));
  const LinearWeight<P> linear_weight(random_tensor<T>({6, 8}, 9));
  const ConvWeight<P> conv_weight(random_tensor<T>({4, 8, 3, 3}, 10));
  const RotaryTable table{sent(random_tensor<f32>({3, 4}, 11)), sent(random_tensor<f32>({3, 4}, 12))};
  const auto times = sent(random_tensor<f32>({3}, 13));
  const std::vector<std::int32_t> ids{5, 0, 1}, classes{5, 0, 1, 7, -100, 2};
  const NormOptions plain{.eps = 1e-5};
  const GroupNormOptions grouped{.groups = 2, .eps = 1e-5};
  const ScaleShiftOptions scaled{.factor = 2, .offset = 1};
  const ClampOptions clamped{.low = -0.5f, .high = 0.5f};

  check(
      "attention", [&](const auto&... c) { return attention<P>(c..., x, y, y, {.heads = 2}); },
      [&](auto&& out, const auto&... c) { attention_into<P>(c..., x, y, y, {.heads = 2}, out); });
  check(
      "linear", [&](const auto&... c) { return linear<P>(c..., x, linear_weight); },
      [&](auto&& out, const auto&... c) { linear_into<P>(c..., x, linear_weight, out); });
  const auto of_result = sent(random_tensor<T>({2, 3, 6}, 14));
  const TransposedWeight<P> transposed_weight(linear_weight);
  check(
      "linear_input_gradient",
      [&](const auto&... c) { return linear_input_gradient<P>(c..., of_result, transposed_weight); },
      [&](auto&& out, const auto&... c) {
        linear_input_gradient_into<P>(c..., of_result, transposed_weight, out);
      });
  check(
      "conv2d", [&](const auto&... c) { return conv2d<P>(c..., image, conv_weight); },
      [&](auto&& out, const auto&... c) { conv2d_into<P>(c..., image, conv_weight, {}, out); });
  check(
      "matmul", [&](const auto&... c) { return matmul<P>(c..., x, matrix); },
      [&](auto&& out, const auto&... c) { matmul_into<P>(c..., x, matrix, out); });
  check(
      "matmul_transposed", [&](const auto&... c) { return matmul_transposed<P>(c..., x, turned); },
      [&](auto&& out, const auto&... c) { matmul_transposed_into<P>(c..., x, turned, out); });
  check(
      "softmax", [&](const auto&... c) { return softmax<P>(c..., x); },
      [&](auto&& out, const auto&... c) { softmax_into<P>(c..., x, out); });
  check(
      "layer_norm without parameters", [&](const auto&... c) { return layer_norm<P>(c..., x, plain); },
      [&](auto&& out, const auto&... c) { layer_norm_into<P>(c..., x, plain, out); });
  check(
      "layer_norm", [&](const auto&... c) { return layer_norm<P>(c..., x, weight, bias, plain); },
      [&](auto&& out, const auto&... c) { layer_norm_into<P>(c..., x, weight, bias, plain, out); });
  check(
      "layer_norm_modulate",
      [&](const auto&... c) { return layer_norm_modulate<P>(c..., x, rows, rows, plain); },
      [&](auto&& out, const auto&... c) { layer_norm_modulate_into<P>(c..., x, rows, rows, plain, out); });
  check(
      "rms_norm", [&](const auto&... c) { return rms_norm<P>(c..., x, weight, plain); },
      [&](auto&& out, const auto&... c) { rms_norm_into<P>(c..., x, weight, plain, out); });
  check(
      "rms_norm_heads", [&](const auto&... c) { return rms_norm_heads<P>(c..., x, weight, plain); },
      [&](auto&& out, const auto&... c) { rms_norm_heads_into<P>(c..., x, weight, plain, out); });
  check(
      "group_norm", [&](const auto&... c) { return group_norm<P>(c..., image, weight, bias, grouped); },
      [&](auto&& out, const auto&... c) { group_norm_into<P>(c..., image, weight, bias, grouped, out); });
  check(
      "group_moments", [&](const auto&... c) { return group_moments(c..., image, grouped); },
      [&](auto&& out, const auto&... c) { group_moments_into(c..., image, grouped, out); });
  const auto moments = group_moments(image, grouped);
  check(
      "group_norm_with",
      [&](const auto&... c) { return group_norm_with<P>(c..., image, moments, weight, bias, grouped); },
      [&](auto&& out, const auto&... c) {
        group_norm_with_into<P>(c..., image, moments, weight, bias, grouped, out);
      });
  check(
      "activate", [&](const auto&... c) { return activate<P>(c..., x, ActivationFunction::silu); },
      [&](auto&& out, const auto&... c) { activate_into<P>(c..., x, ActivationFunction::silu, out); });
  check(
      "add", [&](const auto&... c) { return add<P>(c..., x, y); },
      [&](auto&& out, const auto&... c) { add_into<P>(c..., x, y, out); });
  check(
      "add_per_sample", [&](const auto&... c) { return add_per_sample<P>(c..., x, rows); },
      [&](auto&& out, const auto&... c) { add_per_sample_into<P>(c..., x, rows, out); });
  check(
      "gated_add", [&](const auto&... c) { return gated_add<P>(c..., x, y, rows); },
      [&](auto&& out, const auto&... c) { gated_add_into<P>(c..., x, y, rows, out); });
  check(
      "gated_product",
      [&](const auto&... c) { return gated_product<P>(c..., x, y, ActivationFunction::silu); },
      [&](auto&& out, const auto&... c) {
        gated_product_into<P>(c..., x, y, ActivationFunction::silu, out);
      });
  check(
      "scale_shift", [&](const auto&... c) { return scale_shift<P>(c..., x, scaled); },
      [&](auto&& out, const auto&... c) { scale_shift_into<P>(c..., x, scaled, out); });
  check(
      "clamp", [&](const auto&... c) { return clamp<P>(c..., x, clamped); },
      [&](auto&& out, const auto&... c) { clamp_into<P>(c..., x, clamped, out); });
  check(
      "rotary", [&](const auto&... c) { return rotary<P>(c..., x, table); },
      [&](auto&& out, const auto&... c) { rotary_into<P>(c..., x, table, out); });
  const RotaryTableOfHalves halves{sent(random_tensor<f32>({3, 4}, 11)),
                                   sent(random_tensor<f32>({3, 4}, 12))};
  check(
      "rotary of halves", [&](const auto&... c) { return rotary<P>(c..., x, halves); },
      [&](auto&& out, const auto&... c) { rotary_into<P>(c..., x, halves, out); });
  const DropoutOptions dropped{.probability = 0.5f, .seed = 3};
  check(
      "dropout", [&](const auto&... c) { return dropout<P>(c..., x, dropped); },
      [&](auto&& out, const auto&... c) { dropout_into<P>(c..., x, dropped, out); });
  check(
      "timestep_embedding", [&](const auto&... c) { return timestep_embedding<P>(c..., times, 6); },
      [&](auto&& out, const auto&... c) { timestep_embedding_into<P>(c..., times, TimestepWaves{}, out); });
  check(
      "embedding", [&](const auto&... c) { return embedding<P>(c..., turned, ids); },
      [&](auto&& out, const auto&... c) { embedding_into<P>(c..., turned, ids, out); });
  check(
      "upsample_nearest", [&](const auto&... c) { return upsample_nearest<P>(c..., image, 2); },
      [&](auto&& out, const auto&... c) { upsample_nearest_into<P>(c..., image, 2, out); });
  check(
      "sum", [&](const auto&... c) { return sum<P>(c..., x, Over::last_axis); },
      [&](auto&& out, const auto&... c) { sum_into<P>(c..., x, Over::last_axis, out); });
  check(
      "mean", [&](const auto&... c) { return mean<P>(c..., x); },
      [&](auto&& out, const auto&... c) { mean_into<P>(c..., x, Over::all, out); });
  check(
      "mean_squared_error", [&](const auto&... c) { return mean_squared_error<P>(c..., x, y); },
      [&](auto&& out, const auto&... c) { mean_squared_error_into<P>(c..., x, y, out); });
  check(
      "cross_entropy", [&](const auto&... c) { return cross_entropy<P>(c..., turned, classes); },
      [&](auto&& out, const auto&... c) { cross_entropy_into<P>(c..., turned, classes, {}, out); });
  check(
      "cast", [&](const auto&... c) { return cast<f32>(c..., x); },
      [&](auto&& out, const auto&... c) { cast_into<f32>(c..., x, out); });
}

}  // namespace precast::testing
