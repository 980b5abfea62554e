// A user's file that calls each op once. It compiles as anybody's would: without an experimental flag of
// nvcc's, and without a warning of its or the host compiler's.
#include <precast/ops/attention.hpp>
#include <precast/ops/conv.hpp>
#include <precast/ops/embedding.hpp>
#include <precast/ops/linear.hpp>
#include <precast/ops/loss.hpp>
#include <precast/ops/matmul.hpp>
#include <precast/ops/norm.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/position.hpp>
#include <precast/ops/reduction.hpp>
#include <precast/ops/resample.hpp>
#include <precast/ops/sampler.hpp>
#include <precast/ops/softmax.hpp>
#include <precast/tensor/tensor.hpp>
using namespace precast;
template <class P>
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
  (void)linear<P>(x, lw, ActivationFunction::silu);
  HostTensor<S> cw(Shape{64, 64, 3, 3});
  ConvWeight<P> cv(cw);
  (void)conv2d<P>(img, cv);
  (void)matmul<P>(x.view().reshaped({8, 64}), Tensor<A>(Shape{64, 8}));
  (void)layer_norm<P>(x, w, w, 1e-6);
  (void)rms_norm<P>(x, w, 1e-6);
  (void)group_norm<P>(img, 2, w, w, 1e-6, ActivationFunction::silu);
  (void)layer_norm_modulate<P>(x, Tensor<A>(Shape{1, 64}), Tensor<A>(Shape{1, 64}), 1e-6);
  (void)activate<P>(x, ActivationFunction::gelu_erf);
  (void)add<P>(x, x);
  (void)gated_add<P>(x, x, Tensor<A>(Shape{1, 64}));
  (void)scale_shift<P>(x, 1, 2);
  (void)clamp<P>(x, 0, 1);
  RotaryTable t{Tensor<f32>(Shape{8, 32}), Tensor<f32>(Shape{8, 32})};
  (void)rotary<P>(x, 2, t);
  (void)timestep_embedding<P>(Tensor<f32>(Shape{1}), 64);
  std::int32_t ids[] = {1};
  (void)embedding<P>(x.view().reshaped({8, 64}), ids);
  (void)upsample_nearest<P>(img, 2);
  (void)sum<P>(x);
  (void)mean<P>(x, Over::last_axis);
  (void)mean_squared_error<P>(x, x);
  (void)cross_entropy<P>(Tensor<A>(Shape{1, 64}), ids, {.ignore_index = 2});
  Tensor<f32> state(Shape{1, 64});
  euler_step(state, state, 0.1f);
  combine_into(state, {.divisor = 2}, state);
  combine_into(state, {.coefficients = {2, 3, 1, 1}}, state, state);
  combine_into(state, {}, state, state, state);
  combine_into(state, {}, state, state, state, state);
  guide_into(state, state, state, 7.5f);
  rescale_guidance(state, state, 0.7f);
  repaint(state, state, state, state, 1, 0);
}
template void run<Policy<Storage<bf16>, Flash>>();
