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
  (void)linear<P>(context, x, linear_weight, {.activation = silu});
  (void)layer_norm<P>(context, x, {.eps = 1e-6});
  (void)layer_norm<P>(context, x, w, w, {.eps = 1e-6});
  (void)layer_norm_modulate<P>(context, x, one, one, {.eps = 1e-6});
  (void)rms_norm<P>(context, x, w, {.eps = 1e-6});
  (void)rms_norm_heads<P>(context, x, w, {.eps = 1e-6});
  (void)group_norm<P>(context, image, w, w, {.groups = 2});
  (void)group_norm_with<P>(context, image, group_moments(context, image, {.groups = 2}), w, w, {.groups = 2});
  scale_shift_into<P>(context, x, {.factor = 2}, y.view());
  clamp_into<P>(context, x, {.low = 0}, y.view());
  (void)scale_shift<P>(context, x, {.factor = 2});
  (void)clamp<P>(context, x, {.low = 0});
  (void)dropout<P>(context, x, {.seed = 1});
  (void)layer_norm<P>(context, x);
  (void)rms_norm_heads<P>(context, x, w);
  softmax_into<P>(context, x, in_f32.view());
  attention_into<P>(context, x, x, x, {.heads = 2}, y.view());
  linear_into<P>(context, x, linear_weight, {.activation = silu}, y.view());
  linear_input_gradient_into<P>(context, x, turned, y.view());
  (void)linear_input_gradient<P>(context, x, turned);
  conv2d_into<P>(context, image, conv_weight, {.pad_top = 1, .activation = silu}, of_image.view());
  matmul_into<P>(context, rows, square, products.view());
  matmul_transposed_into<P>(context, rows, square, products.view());
  layer_norm_into<P>(context, x, {.eps = 1e-6}, y.view());
  layer_norm_into<P>(context, x, w, w, {.eps = 1e-6}, y.view());
  layer_norm_modulate_into<P>(context, x, one, one, {.eps = 1e-6}, y.view());
  rms_norm_into<P>(context, x, w, {.eps = 1e-6}, y.view());
  rms_norm_heads_into<P>(context, x, w, {.eps = 1e-6}, y.view());
  const GroupNormOptions grouped{.groups = 2, .eps = 1e-6, .activation = silu};
  group_norm_into<P>(context, image, w, w, grouped, of_image.view());
  group_moments_into(context, image, grouped, moments.view());
  group_norm_with_into<P>(context, image, moments, w, w, grouped, of_image.view());
  activate_into<P>(context, x, silu, y.view());
  activate_into<P, elementwise::Silu>(context, x, y.view());
  add_into<P>(context, x, x, y.view());
  add_per_sample_into<P>(context, image, one, of_image.view());
  gated_add_into<P>(context, x, x, one, y.view());
  gated_product_into<P>(context, x, x, silu, y.view());
  gated_product_into<P, elementwise::Silu>(context, x, x, y.view());
  scale_shift_into<P>(context, x, ScaleShiftOptions{.factor = 2, .offset = 1}, y.view());
  clamp_into<P>(context, x, ClampOptions{.low = 0, .high = 1}, y.view());
  copy_into<P>(context, x, y.view());
  cast_into(context, x, in_f32.view());
  const std::vector<f32> places(8);
  const std::vector<std::int64_t> axes{32};
  rotary_into<P>(context, x, rotary_table(axes, 1e4, places), y.view());
  timestep_embedding_into<P>(context, total.view(), {}, one.view());
  embedding_into<P>(context, square, ids, rows.view());
  embedding_into<P>(context, square, Indices<std::int64_t>{}, rows.view());
  upsample_nearest_into<P>(context, image, 2, larger.view());
  sum_into<P>(context, x, Over::last_axis, each.view());
  mean_into<P>(context, x, Over::all, total.view());
  mean_squared_error_into<P>(context, x, y, total.view());
  cross_entropy_into<P>(context, rows, ids, {}, total.view());
  cross_entropy_into<P>(context, rows, Indices<std::int32_t>{}, {}, total.view());
  euler_step_into(context, state.view(), state.view(), 0.1f, state.view());
  combine_into(context, state, {.divisor = 2}, state);
  guide_into(context, state.view(), state.view(), 7.5f, state.view());
  rescale_guidance_into(context, state.view(), state.view(), 0.7f, state.view());
  repaint_into(context, state.view(), state.view(), state.view(), state.view(), {1, 0}, state.view());
}
