// Every op once: as a function that returns its result, and as one that writes into a view; with or without a
// Context behind the other arguments.
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
      "attention", [&](const auto&... c) { return attention<P>(x, y, y, {.heads = 2}, c...); },
      [&](auto&& out, const auto&... c) { attention_into<P>(x, y, y, {.heads = 2}, out, c...); });
  check(
      "linear", [&](const auto&... c) { return linear<P>(x, linear_weight, {}, c...); },
      [&](auto&& out, const auto&... c) { linear_into<P>(x, linear_weight, out, c...); });
  const auto of_result = sent(random_tensor<T>({2, 3, 6}, 14));
  const TransposedWeight<P> transposed_weight(linear_weight);
  check(
      "linear_input_gradient",
      [&](const auto&... c) { return linear_input_gradient<P>(of_result, transposed_weight, c...); },
      [&](auto&& out, const auto&... c) {
        linear_input_gradient_into<P>(of_result, transposed_weight, out, c...);
      });
  check(
      "conv2d", [&](const auto&... c) { return conv2d<P>(image, conv_weight, {}, c...); },
      [&](auto&& out, const auto&... c) { conv2d_into<P>(image, conv_weight, {}, out, c...); });
  check(
      "matmul", [&](const auto&... c) { return matmul<P>(x, matrix, c...); },
      [&](auto&& out, const auto&... c) { matmul_into<P>(x, matrix, out, c...); });
  check(
      "matmul_transposed", [&](const auto&... c) { return matmul_transposed<P>(x, turned, c...); },
      [&](auto&& out, const auto&... c) { matmul_transposed_into<P>(x, turned, out, c...); });
  check(
      "softmax", [&](const auto&... c) { return softmax<P>(x, c...); },
      [&](auto&& out, const auto&... c) { softmax_into<P>(x, out, c...); });
  check(
      "layer_norm without parameters", [&](const auto&... c) { return layer_norm<P>(x, plain, c...); },
      [&](auto&& out, const auto&... c) { layer_norm_into<P>(x, plain, out, c...); });
  check(
      "layer_norm", [&](const auto&... c) { return layer_norm<P>(x, weight, bias, plain, c...); },
      [&](auto&& out, const auto&... c) { layer_norm_into<P>(x, weight, bias, plain, out, c...); });
  check(
      "layer_norm_modulate",
      [&](const auto&... c) { return layer_norm_modulate<P>(x, rows, rows, plain, c...); },
      [&](auto&& out, const auto&... c) { layer_norm_modulate_into<P>(x, rows, rows, plain, out, c...); });
  check(
      "rms_norm", [&](const auto&... c) { return rms_norm<P>(x, weight, plain, c...); },
      [&](auto&& out, const auto&... c) { rms_norm_into<P>(x, weight, plain, out, c...); });
  check(
      "rms_norm_heads", [&](const auto&... c) { return rms_norm_heads<P>(x, weight, plain, c...); },
      [&](auto&& out, const auto&... c) { rms_norm_heads_into<P>(x, weight, plain, out, c...); });
  check(
      "group_norm", [&](const auto&... c) { return group_norm<P>(image, weight, bias, grouped, c...); },
      [&](auto&& out, const auto&... c) { group_norm_into<P>(image, weight, bias, grouped, out, c...); });
  check(
      "group_moments", [&](const auto&... c) { return group_moments(image, grouped, c...); },
      [&](auto&& out, const auto&... c) { group_moments_into(image, grouped, out, c...); });
  const auto moments = group_moments(image, grouped);
  check(
      "group_norm_with",
      [&](const auto&... c) { return group_norm_with<P>(image, moments, weight, bias, grouped, c...); },
      [&](auto&& out, const auto&... c) {
        group_norm_with_into<P>(image, moments, weight, bias, grouped, out, c...);
      });
  check(
      "activate", [&](const auto&... c) { return activate<P>(x, ActivationFunction::silu, c...); },
      [&](auto&& out, const auto&... c) { activate_into<P>(x, ActivationFunction::silu, out, c...); });
  check(
      "add", [&](const auto&... c) { return add<P>(x, y, c...); },
      [&](auto&& out, const auto&... c) { add_into<P>(x, y, out, c...); });
  check(
      "add_per_sample", [&](const auto&... c) { return add_per_sample<P>(x, rows, c...); },
      [&](auto&& out, const auto&... c) { add_per_sample_into<P>(x, rows, out, c...); });
  check(
      "gated_add", [&](const auto&... c) { return gated_add<P>(x, y, rows, c...); },
      [&](auto&& out, const auto&... c) { gated_add_into<P>(x, y, rows, out, c...); });
  check(
      "gated_product",
      [&](const auto&... c) { return gated_product<P>(x, y, ActivationFunction::silu, c...); },
      [&](auto&& out, const auto&... c) {
        gated_product_into<P>(x, y, ActivationFunction::silu, out, c...);
      });
  check(
      "scale_shift", [&](const auto&... c) { return scale_shift<P>(x, scaled, c...); },
      [&](auto&& out, const auto&... c) { scale_shift_into<P>(x, scaled, out, c...); });
  check(
      "clamp", [&](const auto&... c) { return clamp<P>(x, clamped, c...); },
      [&](auto&& out, const auto&... c) { clamp_into<P>(x, clamped, out, c...); });
  check(
      "rotary", [&](const auto&... c) { return rotary<P>(x, table, c...); },
      [&](auto&& out, const auto&... c) { rotary_into<P>(x, table, out, c...); });
  const RotaryTableOfHalves halves{sent(random_tensor<f32>({3, 4}, 11)),
                                   sent(random_tensor<f32>({3, 4}, 12))};
  check(
      "rotary of halves", [&](const auto&... c) { return rotary<P>(x, halves, c...); },
      [&](auto&& out, const auto&... c) { rotary_into<P>(x, halves, out, c...); });
  const DropoutOptions dropped{.probability = 0.5f, .seed = 3};
  check(
      "dropout", [&](const auto&... c) { return dropout<P>(x, dropped, c...); },
      [&](auto&& out, const auto&... c) { dropout_into<P>(x, dropped, out, c...); });
  check(
      "timestep_embedding", [&](const auto&... c) { return timestep_embedding<P>(times, 6, {}, c...); },
      [&](auto&& out, const auto&... c) { timestep_embedding_into<P>(times, TimestepWaves{}, out, c...); });
  check(
      "embedding", [&](const auto&... c) { return embedding<P>(turned, ids, c...); },
      [&](auto&& out, const auto&... c) { embedding_into<P>(turned, ids, out, c...); });
  check(
      "upsample_nearest", [&](const auto&... c) { return upsample_nearest<P>(image, 2, c...); },
      [&](auto&& out, const auto&... c) { upsample_nearest_into<P>(image, 2, out, c...); });
  check(
      "sum", [&](const auto&... c) { return sum<P>(x, Over::last_axis, c...); },
      [&](auto&& out, const auto&... c) { sum_into<P>(x, Over::last_axis, out, c...); });
  check(
      "mean", [&](const auto&... c) { return mean<P>(x, Over::all, c...); },
      [&](auto&& out, const auto&... c) { mean_into<P>(x, Over::all, out, c...); });
  check(
      "mean_squared_error", [&](const auto&... c) { return mean_squared_error<P>(x, y, c...); },
      [&](auto&& out, const auto&... c) { mean_squared_error_into<P>(x, y, out, c...); });
  check(
      "cross_entropy", [&](const auto&... c) { return cross_entropy<P>(turned, classes, {}, c...); },
      [&](auto&& out, const auto&... c) { cross_entropy_into<P>(turned, classes, {}, out, c...); });
  check(
      "cast", [&](const auto&... c) { return cast<f32>(x, c...); },
      [&](auto&& out, const auto&... c) { cast_into<f32>(x, out, c...); });
}

}  // namespace precast::testing
