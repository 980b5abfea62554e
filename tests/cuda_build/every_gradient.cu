// A user's file that calls each op of training once, in a context, as every_op.cu calls the others.
#include <cstdint>
#include <span>
#include <utility>

#include <precast/ops/add_per_sample.hpp>
#include <precast/ops/attention_gradient.hpp>
#include <precast/ops/dropout.hpp>
#include <precast/ops/embedding_gradient.hpp>
#include <precast/ops/linear.hpp>  // two headers have a linear_into
#include <precast/ops/loss_gradient.hpp>
#include <precast/ops/matmul_gradient.hpp>
#include <precast/ops/norm_gradient.hpp>
#include <precast/ops/pointwise_gradient.hpp>
#include <precast/ops/rotary_gradient.hpp>
#include <precast/ops/training_linear.hpp>
#include <precast/tensor/tensor.hpp>
using namespace precast;
template <class P>
void run(const Context& context) {
  using A = typename training<P>::gradient;
  using G = typename training<P>::parameter_gradient;
  using S = typename P::storage;
  const GradientOptions options{};
  Tensor<A> x(Shape{1, 8, 64}), y(x.shape()), z(x.shape()), image(Shape{1, 8, 8, 64}),
      of_image(image.shape());
  Tensor<A> rows(Shape{8, 64}), products(Shape{8, 64}), square(Shape{64, 64}), of_square(Shape{64, 64});
  Tensor<S> w(Shape{64, 64}), v(Shape{64});
  Tensor<G> dw(Shape{64, 64}), dv(Shape{64}), db(Shape{64});
  Tensor<f32> log_sums(Shape{1, 2, 8});
  const std::int32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
  const std::span<const std::int32_t> ids = numbers;
  linear_into<P>(x, w, v, y.view(), context);
  linear_into<P>(x, w, y.view(), context);
  linear_input_gradient_into<P>(x, w, y.view(), context);
  linear_weight_gradient_into<P>(x, y, options, dw.view(), context);
  bias_gradient_into<P>(x, options, dv.view(), context);
  broadcast_gradient_into<P>(x, options, dv.view(), context);
  matmul_left_gradient_into<P>(rows, square, products.view(), context);
  matmul_right_gradient_into<P>(rows, products, of_square.view(), context);
  attention_with_log_sums_into<P>(x, x, x, AttentionOptions{.heads = 2}, y.view(), log_sums.view(), context);
  Tensor<A> dq(x.shape()), dk(x.shape()), dx(x.shape());
  attention_gradient_into<P>(z, x, x, x, y, std::as_const(log_sums).view(), AttentionOptions{.heads = 2},
                             dq.view(), dk.view(), dx.view(), context);
  const NormGradientOptions of_norm{.eps = 1e-6, .accumulate = options.accumulate};
  layer_norm_gradient_into<P>(x, y, NormOptions{.eps = 1e-6}, z.view(), context);
  layer_norm_gradient_into<P>(x, y, v, of_norm, z.view(), dv.view(), db.view(), context);
  rms_norm_gradient_into<P>(x, y, v, of_norm, z.view(), dv.view(), context);
  activate_gradient_into<P>(x, y, ActivationFunction::gelu_tanh, z.view(), context);
  gated_product_gradient_into<P>(x, y, z, ActivationFunction::silu, dq.view(), dk.view(), context);
  activate_gradient_into<P, elementwise::GeluTanh>(x, y, z.view(), context);
  gated_product_gradient_into<P, elementwise::Silu>(x, y, z, dq.view(), dk.view(), context);
  rotary_gradient_into<P>(x, RotaryTable{Tensor<f32>(Shape{8, 32}), Tensor<f32>(Shape{8, 32})}, y.view(),
                          context);
  rotary_gradient_into<P>(x, RotaryTableOfHalves{Tensor<f32>(Shape{8, 32}), Tensor<f32>(Shape{8, 32})},
                          y.view(), context);
  embedding_gradient_into<P>(rows, ids, options, dw.view(), context);
  embedding_gradient_into<P>(rows, Indices<std::int64_t>{}, options, dw.view(), context);
  cross_entropy_gradient_into<P>(1.0f, rows, ids, CrossEntropyOptions{}, products.view(), context);
  cross_entropy_gradient_into<P>(1.0f, rows, Indices<std::int32_t>{}, {}, products.view(), context);
  dropout_into<P>(x, DropoutOptions{}, y.view(), context);
  add_per_sample_into<P>(image, Tensor<A>(Shape{1, 64}), of_image.view(), context);
}
// Options in braces. (nvcc before 12.4 passes them wrongly out of a template.)
void run_with_braces(const Context& context, View<bf16> x, View<f32> master, View<bf16> parameters,
                     View<f32> log_sums, std::span<const std::int32_t> ids) {
  using P = Policy<Storage<bf16>, Flash>;
  linear_weight_gradient_into<P>(x, x, {.accumulate = true}, master, context);
  bias_gradient_into<P>(x, {.accumulate = true}, master, context);
  broadcast_gradient_into<P>(x, {.accumulate = true}, master, context);
  attention_with_log_sums_into<P>(x, x, x, {.heads = 2}, x, log_sums, context);
  attention_gradient_into<P>(x, x, x, x, x, log_sums, {.heads = 2}, x, x, x, context);
  layer_norm_gradient_into<P>(x, x, {.eps = 1e-6}, x, context);
  layer_norm_gradient_into<P>(x, x, parameters, {.eps = 1e-6}, x, master, master, context);
  rms_norm_gradient_into<P>(x, x, parameters, {.eps = 1e-6}, x, master, context);
  dropout_into<P>(x, {.probability = 0.5f}, x, context);
  embedding_gradient_into<P>(x, ids, {.accumulate = true}, master, context);
  cross_entropy_gradient_into<P>(1.0f, x, ids, {.ignore_index = 0}, x, context);
}
template void run<Policy<Storage<bf16>, Flash>>(const Context&);
template void
run<Policy<Storage<f16>, Downcast<Matmul, Conv, Attention, Norm, Softmax, Reduction, Loss, Pointwise>>>(
    const Context&);
