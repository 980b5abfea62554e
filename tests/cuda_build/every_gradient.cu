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
  linear_into<P>(context, x, w, v, y.view());
  linear_into<P>(context, x, w, y.view());
  linear_input_gradient_into<P>(context, x, w, y.view());
  linear_weight_gradient_into<P>(context, x, y, options, dw.view());
  bias_gradient_into<P>(context, x, options, dv.view());
  matmul_left_gradient_into<P>(context, rows, square, products.view());
  matmul_right_gradient_into<P>(context, rows, products, of_square.view());
  attention_with_log_sums_into<P>(context, x, x, x, AttentionOptions{.heads = 2}, y.view(), log_sums.view());
  Tensor<A> dq(x.shape()), dk(x.shape()), dx(x.shape());
  attention_gradient_into<P>(context, z, x, x, x, y, std::as_const(log_sums).view(),
                             AttentionOptions{.heads = 2}, dq.view(), dk.view(), dx.view());
  const NormGradientOptions of_norm{.eps = 1e-6, .accumulate = options.accumulate};
  layer_norm_gradient_into<P>(context, x, y, NormOptions{.eps = 1e-6}, z.view());
  layer_norm_gradient_into<P>(context, x, y, v, of_norm, z.view(), dv.view(), db.view());
  rms_norm_gradient_into<P>(context, x, y, v, of_norm, z.view(), dv.view());
  activate_gradient_into<P>(context, x, y, ActivationFunction::gelu_tanh, z.view());
  gated_product_gradient_into<P>(context, x, y, z, ActivationFunction::silu, dq.view(), dk.view());
  activate_gradient_into<P, elementwise::GeluTanh>(context, x, y, z.view());
  gated_product_gradient_into<P, elementwise::Silu>(context, x, y, z, dq.view(), dk.view());
  rotary_gradient_into<P>(context, x, RotaryTable{Tensor<f32>(Shape{8, 32}), Tensor<f32>(Shape{8, 32})},
                          y.view());
  rotary_gradient_into<P>(
      context, x, RotaryTableOfHalves{Tensor<f32>(Shape{8, 32}), Tensor<f32>(Shape{8, 32})}, y.view());
  embedding_gradient_into<P>(context, rows, ids, options, dw.view());
  embedding_gradient_into<P>(context, rows, Indices<std::int64_t>{}, options, dw.view());
  cross_entropy_gradient_into<P>(context, 1.0f, rows, ids, CrossEntropyOptions{}, products.view());
  cross_entropy_gradient_into<P>(context, 1.0f, rows, Indices<std::int32_t>{}, {}, products.view());
  dropout_into<P>(context, x, DropoutOptions{}, y.view());
  add_per_sample_into<P>(context, image, Tensor<A>(Shape{1, 64}), of_image.view());
}
// Options in braces. (nvcc before 12.4 passes them wrongly out of a template.)
void run_with_braces(const Context& context, View<bf16> x, View<f32> master, View<bf16> parameters,
                     View<f32> log_sums, std::span<const std::int32_t> ids) {
  using P = Policy<Storage<bf16>, Flash>;
  linear_weight_gradient_into<P>(context, x, x, {.accumulate = true}, master);
  bias_gradient_into<P>(context, x, {.accumulate = true}, master);
  attention_with_log_sums_into<P>(context, x, x, x, {.heads = 2}, x, log_sums);
  attention_gradient_into<P>(context, x, x, x, x, x, log_sums, {.heads = 2}, x, x, x);
  layer_norm_gradient_into<P>(context, x, x, {.eps = 1e-6}, x);
  layer_norm_gradient_into<P>(context, x, x, parameters, {.eps = 1e-6}, x, master, master);
  rms_norm_gradient_into<P>(context, x, x, parameters, {.eps = 1e-6}, x, master);
  dropout_into<P>(context, x, {.probability = 0.5f}, x);
  embedding_gradient_into<P>(context, x, ids, {.accumulate = true}, master);
  cross_entropy_gradient_into<P>(context, 1.0f, x, ids, {.ignore_index = 0}, x);
}
template void run<Policy<Storage<bf16>, Flash>>(const Context&);
template void
run<Policy<Storage<f16>, Downcast<Matmul, Conv, Attention, Norm, Softmax, Reduction, Loss, Pointwise>>>(
    const Context&);
