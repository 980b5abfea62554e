// The steps of formulas as commonly written, each an op whose result is rounded to one format.
#pragma once

#include <cmath>

#include <experiments/each_format.hpp>

#include <precast/ops/pointwise.hpp>

namespace precast::experiments {

/// e^x, which overflows f16 above 11.09 and bf16 and f32 above 88.72.
struct Exponential {
  f32 operator()(f32 x) const { return std::exp(x); }
};
/// log(1 + x).
struct LogOnePlus {
  f32 operator()(f32 x) const { return std::log1p(x); }
};
/// x over a number.
struct DividedBy {
  f32 divisor;
  f32 operator()(f32 x) const { return x / divisor; }
};
/// log(1 + e^x) without a large exponential.
struct StableSoftplus {
  f32 operator()(f32 x) const { return std::fmax(x, 0.0f) + std::log1p(std::exp(-std::fabs(x))); }
};

/// A function of each value of x, computed in f32 and rounded once to T, as the op table has it for
/// pointwise ops of a policy of T.
template <ScalarDtype T, class Function>
Tensor<T> each(const Tensor<T>& x, const Function& function) {
  Tensor<T> out(x.shape());
  backend::map_values<precisions<All<T>, Pointwise>>(out.view(), function, as_view(x));
  return out;
}

}  // namespace precast::experiments
