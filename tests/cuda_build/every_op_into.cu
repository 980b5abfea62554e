// A user's file that calls each op once, in a context of its own, into memory that it has; every_op.cu says
// more.
#include <cstdint>
#include <vector>

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
#include <precast/ops/sampler.hpp>
#include <precast/ops/softmax.hpp>
#include <precast/ops/timestep_embedding.hpp>
#include <precast/tensor/tensor.hpp>
using namespace precast;
using P = Policy<Storage<bf16>, Flash>;
void run(const Context& context) {
  using A = typename P::activation;
  using S = typename P::storage;
  Tensor<A> x(Shape{1, 8, 64}), y(x.shape()), rows(Shape{8, 64}), square(Shape{64, 64});
  Tensor<A> image(Shape{1, 8, 8, 64}), of_image(image.shape()), larger(Shape{1, 16, 16, 64});
  Tensor<A> one(Shape{1, 64}), products(Shape{8, 64});
  Tensor<S> w(Shape{64});
  const LinearWeight<P> linear_weight(HostTensor<S>(Shape{64, 64}));
  const TransposedWeight<P> turned(linear_weight);
  const ConvWeight<P> conv_weight(HostTensor<S>(Shape{64, 64, 3, 3}));
  Tensor<f32> in_f32(x.shape()), total(Shape{1}), each(Shape{1, 8}), moments(Shape{2, 2}),
      state(Shape{1, 64});
  const std::vector<std::int32_t> ids{0, 1, 2, 3, 4, 5, 6, 7};
  constexpr auto silu = ActivationFunction::silu;
  // Options in braces.
  (void)linear<P>(x, linear_weight, {.activation = silu}, context);
  (void)layer_norm<P>(x, {.eps = 1e-6}, context);
  (void)layer_norm<P>(x, w, w, {.eps = 1e-6}, context);
  (void)layer_norm_modulate<P>(x, one, one, {.eps = 1e-6}, context);
  (void)rms_norm<P>(x, w, {.eps = 1e-6}, context);
  (void)rms_norm_heads<P>(x, w, {.eps = 1e-6}, context);
  (void)group_norm<P>(image, w, w, {.groups = 2}, context);
  (void)group_norm_with<P>(image, group_moments(image, {.groups = 2}, context), w, w, {.groups = 2}, context);
  scale_shift_into<P>(x, {.factor = 2}, y.view(), context);
  clamp_into<P>(x, {.low = 0}, y.view(), context);
  (void)scale_shift<P>(x, {.factor = 2}, context);
  (void)clamp<P>(x, {.low = 0}, context);
  (void)dropout<P>(x, {.seed = 1}, context);
  (void)layer_norm<P>(x, {}, context);
  (void)rms_norm_heads<P>(x, w, {}, context);
  softmax_into<P>(x, in_f32.view(), context);
  attention_into<P>(x, x, x, {.heads = 2}, y.view(), context);
  linear_into<P>(x, linear_weight, {.activation = silu}, y.view(), context);
  linear_input_gradient_into<P>(x, turned, y.view(), context);
  (void)linear_input_gradient<P>(x, turned, context);
  conv2d_into<P>(image, conv_weight, {.pad_top = 1, .activation = silu}, of_image.view(), context);
  matmul_into<P>(rows, square, products.view(), context);
  matmul_transposed_into<P>(rows, square, products.view(), context);
  layer_norm_into<P>(x, {.eps = 1e-6}, y.view(), context);
  layer_norm_into<P>(x, w, w, {.eps = 1e-6}, y.view(), context);
  layer_norm_modulate_into<P>(x, one, one, {.eps = 1e-6}, y.view(), context);
  rms_norm_into<P>(x, w, {.eps = 1e-6}, y.view(), context);
  rms_norm_heads_into<P>(x, w, {.eps = 1e-6}, y.view(), context);
  const GroupNormOptions grouped{.groups = 2, .eps = 1e-6, .activation = silu};
  group_norm_into<P>(image, w, w, grouped, of_image.view(), context);
  group_moments_into(image, grouped, moments.view(), context);
  group_norm_with_into<P>(image, moments, w, w, grouped, of_image.view(), context);
  activate_into<P>(x, silu, y.view(), context);
  activate_into<P, elementwise::Silu>(x, y.view(), context);
  add_into<P>(x, x, y.view(), context);
  add_per_sample_into<P>(image, one, of_image.view(), context);
  gated_add_into<P>(x, x, one, y.view(), context);
  gated_product_into<P>(x, x, silu, y.view(), context);
  gated_product_into<P, elementwise::Silu>(x, x, y.view(), context);
  scale_shift_into<P>(x, ScaleShiftOptions{.factor = 2, .offset = 1}, y.view(), context);
  clamp_into<P>(x, ClampOptions{.low = 0, .high = 1}, y.view(), context);
  copy_into<P>(x, y.view(), context);
  cast_into(x, in_f32.view(), context);
  const std::vector<f32> places(8);
  const std::vector<std::int64_t> axes{32};
  rotary_into<P>(x, rotary_table(axes, 1e4, places, context), y.view(), context);
  timestep_embedding_into<P>(total.view(), {}, one.view(), context);
  embedding_into<P>(square, ids, rows.view(), context);
  embedding_into<P>(square, Indices<std::int64_t>{}, rows.view(), context);
  upsample_nearest_into<P>(image, 2, larger.view(), context);
  sum_into<P>(x, Over::last_axis, each.view(), context);
  mean_into<P>(x, Over::all, total.view(), context);
  mean_squared_error_into<P>(x, y, total.view(), context);
  cross_entropy_into<P>(rows, ids, {}, total.view(), context);
  cross_entropy_into<P>(rows, Indices<std::int32_t>{}, {}, total.view(), context);
  euler_step_into(state.view(), state.view(), 0.1f, state.view(), context);
  combine_into(state, {.divisor = 2}, state, context);
  guide_into(state.view(), state.view(), 7.5f, state.view(), context);
  rescale_guidance_into(state.view(), state.view(), 0.7f, state.view(), context);
  repaint_into(state.view(), state.view(), state.view(), state.view(), {1, 0}, state.view(), context);
}
