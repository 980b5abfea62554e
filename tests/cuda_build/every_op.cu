// A user's file that calls each op once, for a result of its own; every_op_into.cu writes into given memory.
// It compiles as anybody's would: without an experimental flag of nvcc's, and without a warning of its or the
// host compiler's.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <precast/dtype/blocks/k_blocks.hpp>
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
void run() {
  using A = typename P::activation;
  using S = typename P::storage;
  Tensor<A> x(Shape{1, 8, 64});
  Tensor<S> w(Shape{64});
  Tensor<A> img(Shape{1, 8, 8, 64});
  (void)softmax<P>(x);
  (void)attention<P>(x, x, x, {.heads = 2});
  HostTensor<S> hw(Shape{64, 64});
  LinearWeight<P> lw(hw);
  (void)linear<P>(x, lw, {.activation = ActivationFunction::silu});
  const Tensor<S> on_device(Shape{64, 64});
  (void)linear<P>(x, LinearWeight<P>::borrowed(on_device, w));
  (void)LinearWeight<P>::in_blocks(dtype_info<q4_k>, 64, 64, [](std::span<std::byte>) {});
  (void)LinearWeight<P>::bytes_in_blocks(dtype_info<q4_k>, 64, 64);
  (void)linear_input_gradient<P>(x, TransposedWeight<P>(lw));
  HostTensor<S> cw(Shape{64, 64, 3, 3});
  ConvWeight<P> cv(cw);
  (void)conv2d<P>(img, cv);
  (void)conv2d<P>(img, ConvWeight<P>::borrowed(Tensor<S>(Shape{64, 3, 3, 64}), w));
  (void)matmul<P>(x.view().reshaped({8, 64}), Tensor<A>(Shape{64, 8}));
  (void)matmul_transposed<P>(x, Tensor<A>(Shape{8, 64}));
  (void)layer_norm<P>(x, w, w, {.eps = 1e-6});
  (void)layer_norm<P>(x, {.eps = 1e-6});
  (void)layer_norm<P>(x);
  (void)layer_norm<P>(x, w, w);
  (void)rms_norm<P>(x, w, {.eps = 1e-6});
  (void)rms_norm<P>(x, w);
  (void)rms_norm_heads<P>(x, w, {.eps = 1e-6});
  (void)group_norm<P>(img, w, w, {.groups = 2, .eps = 1e-6, .activation = ActivationFunction::silu});
  (void)group_norm_with<P>(img, group_moments(img, {.groups = 2, .eps = 1e-6}), w, w, {.groups = 2});
  (void)layer_norm_modulate<P>(x, Tensor<A>(Shape{1, 64}), Tensor<A>(Shape{1, 64}), {.eps = 1e-6});
  (void)activate<P>(x, ActivationFunction::gelu_erf);
  (void)activate<P, elementwise::GeluErf>(x);
  (void)add<P>(x, x);
  (void)add_per_sample<P>(img, Tensor<A>(Shape{1, 64}));
  (void)gated_product<P>(x, x, ActivationFunction::silu);
  (void)gated_product<P, elementwise::Silu>(x, x);
  (void)gated_add<P>(x, x, Tensor<A>(Shape{1, 64}));
  (void)scale_shift<P>(x, {.factor = 2, .offset = 1});
  (void)clamp<P>(x, {.low = 0, .high = 1});
  (void)cast<f16>(x);
  (void)dropout<P>(x, {.seed = 1, .offset = 2});
  const std::vector<f32> places(8);
  const std::vector<std::int64_t> axes{32};
  (void)rotary<P>(x, rotary_table(axes, 1e4, places));
  (void)rotary<P>(x, rotary_table_of_halves(32, 1e4, places));
  (void)rotary<P>(x, rotary_table_of_halves(rotary_frequencies(32, 1e4), places));
  (void)timestep_embedding<P>(Tensor<f32>(Shape{1}), 64);
  std::int32_t ids[] = {1};
  (void)embedding<P>(x.view().reshaped({8, 64}), ids);
  const Tensor<f32> numbers(Shape{4});  // four words
  (void)embedding<P>(x.view().reshaped({8, 64}),
                     Indices<std::int32_t>{reinterpret_cast<const std::int32_t*>(numbers.data()), 4});
  (void)upsample_nearest<P>(img, 2);
  (void)sum<P>(x);
  (void)mean<P>(x, Over::last_axis);
  (void)mean_squared_error<P>(x, x);
  (void)cross_entropy<P>(Tensor<A>(Shape{1, 64}), ids, {.ignore_index = 2});
  (void)cross_entropy<P>(Tensor<A>(Shape{1, 64}), Indices<std::int64_t>{nullptr, 0});
  Tensor<f32> state(Shape{1, 64});
  euler_step_into(state, state, 0.1f, state);
  combine_into(state, {.divisor = 2}, state);
  combine_into(state, state, {.coefficients = {2, 3, 1, 1}}, state);
  combine_into(state, state, state, {}, state);
  combine_into(state, state, state, state, {}, state);
  guide_into(state, state, 7.5f, state);
  rescale_guidance_into(state, state, 0.7f, state);
  repaint_into(state, state, state, state, {1, 0}, state);
}
