// Loops over what kernels compute of each value. Each is one line, by which the compiler names what it makes
// no vectors of.
#include <precast/dtype/convert_value.hpp>
#include <precast/problem/elementwise.hpp>
#include <precast/problem/elementwise_gradient.hpp>
#include <precast/problem/math.hpp>

using namespace precast;
using namespace precast::elementwise;

/// void NAME(from, other, to, count): to[i] = VALUE of x and y, which are from[i] and other[i].
#define LOOP_OVER(name, value)                                                                         \
  void name(const f32* __restrict from, const f32* __restrict other, f32* __restrict to, long count) { \
    for (long i = 0; i < count; ++i) {                                                                 \
      const f32 x = from[i];                                                                           \
      [[maybe_unused]] const f32 y = other[i];                                                         \
      to[i] = (value);                                                                                 \
    }                                                                                                  \
  }

#if PRECAST_WITH_A_BRANCH
LOOP_OVER(branch, math::exp_of_negative(x < -86.0f ? -86.0f : x) * (x < -86.0f ? 0.0f : 1.0f))
#endif

LOOP_OVER(exponential, math::exp(x))
LOOP_OVER(exponential_of_negative, math::exp_of_negative(x))
LOOP_OVER(sigmoid, math::sigmoid(x))

LOOP_OVER(gelu_tanh, GeluTanh{}(x))
LOOP_OVER(gelu_erf, GeluErf{}(x))
LOOP_OVER(quick_gelu, QuickGelu{}(x))
LOOP_OVER(silu, Silu{}(x))
LOOP_OVER(relu, Relu{}(x))
LOOP_OVER(geglu, GatedProduct<GeluErf>{}(x, y))
LOOP_OVER(swiglu, GatedProduct<Silu>{}(x, y))

LOOP_OVER(gelu_tanh_gradient, ActivationGradient<GeluTanh>{}(y, x))
LOOP_OVER(gelu_erf_gradient, ActivationGradient<GeluErf>{}(y, x))
LOOP_OVER(quick_gelu_gradient, ActivationGradient<QuickGelu>{}(y, x))
LOOP_OVER(silu_gradient, ActivationGradient<Silu>{}(y, x))
LOOP_OVER(relu_gradient, ActivationGradient<Relu>{}(y, x))

LOOP_OVER(rounded_to_tf32, rounded_to<tf32>(x))
LOOP_OVER(rounded_to_bf16, rounded_to<bf16>(x))
LOOP_OVER(rounded_to_f16, rounded_to<f16>(x))
LOOP_OVER(rounded_to_fp8_e4m3, rounded_to<fp8_e4m3>(x))
LOOP_OVER(rounded_to_fp8_e5m2, rounded_to<fp8_e5m2>(x))
LOOP_OVER(saturated_in_fp8_e4m3, (convert_value<f32>(convert_value<fp8_e4m3, true>(x))))
LOOP_OVER(gelu_erf_in_bf16, GeluErf{}.in<bf16>(x))
LOOP_OVER(silu_in_bf16, Silu{}.in<bf16>(x))
