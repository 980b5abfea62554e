#include <cmath>
#include <type_traits>
#include <utility>

#include <experiments/each_format.hpp>
#include <experiments/products.hpp>
#include <experiments/small_network.hpp>
#include <sampling/torch_random.hpp>

#include <precast/ops/cast.hpp>
#include <precast/ops/loss.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/reduction.hpp>

namespace precast::experiments {

namespace {

constexpr std::int64_t rows = 256, width = 128;
constexpr f32 small = 1e-3f;

struct Difference {
  f32 operator()(f32 a, f32 b) const { return a - b; }
};
/// The gradient of relu: the incoming gradient where relu's result was above zero, else 0.
struct WherePositive {
  f32 operator()(f32 gradient, f32 result) const { return result > 0 ? gradient : 0.0f; }
};

template <ScalarDtype T, class Function, class... In>
Tensor<T> each_of(const Function& function, const Tensor<T>& first, const In&... in) {
  Tensor<T> out(first.shape());
  backend::map_values<precisions<All<T>, Pointwise>>(out.view(), function, as_view(first), as_view(in)...);
  return out;
}

template <ScalarDtype T>
Tensor<T> product(const Tensor<T>& x, const Tensor<T>& weight, std::span<const T> bias = {}) {
  if constexpr (std::is_same_v<T, f16>)
    return linear_in_f16(x, weight, bias);
  else
    return linear_in_f32(x, weight, bias);
}

template <ScalarDtype T>
Tensor<T> transposed(const Tensor<T>& x) {
  const std::int64_t m = x.shape()[0], n = x.shape()[1];
  Tensor<T> out(Shape{n, m});
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t k = 0; k < n; ++k) out.data()[k * m + i] = x.data()[i * n + k];
  return out;
}

/// Appends the magnitudes of a parameter's gradient, divided by the scale.
template <ScalarDtype T>
void append_unscaled(Gradients& all, const Tensor<T>& gradient, double scale, Unscaled unscaled) {
  for (const T value : gradient.values()) {
    const double exact = to_double(value) / scale;
    all.magnitudes.push_back(
        std::fabs(unscaled == Unscaled::in_f32 ? exact : to_double(from_double<T>(exact))));
  }
}

}  // namespace

SmallNetwork::SmallNetwork() {
  sampling::TorchGenerator generator(0);
  // nn.Linear draws weights and biases up to 1 / sqrt(inputs).
  const auto bound = static_cast<f32>(1 / std::sqrt(static_cast<double>(width)));
  weight_1_ = generator.uniform(Shape{width, width}, -bound, bound);
  bias_1_ = generator.uniform(Shape{width}, -bound, bound);
  weight_2_ = generator.uniform(Shape{1, width}, -bound, bound);
  bias_2_ = generator.uniform(Shape{1}, -bound, bound);
  inputs_ = scale_shift<All<f32>>(generator.randn(Shape{rows, width}), {.factor = small});
  targets_ = scale_shift<All<f32>>(generator.randn(Shape{rows, 1}), {.factor = small});
}

template <ScalarDtype T>
Gradients SmallNetwork::backward(double scale, Unscaled unscaled) const {
  using P = All<T>;
  const Tensor<T> weight_1 = cast<T>(weight_1_), weight_2 = cast<T>(weight_2_), bias_1 = cast<T>(bias_1_),
                  bias_2 = cast<T>(bias_2_), x = cast<T>(inputs_), y = cast<T>(targets_);
  const Tensor<T> before = product<T>(x, weight_1, bias_1.values());
  const Tensor<T> hidden = activate<P>(before, ActivationFunction::relu);
  const Tensor<T> predicted = product<T>(hidden, weight_2, bias_2.values());
  const Tensor<T> difference = each_of(Difference{}, predicted, y);
  Gradients found;
  found.loss = to_double(cast<T>(mean_squared_error<P>(predicted, y)).values()[0]);

  // Backwards, each result rounded to T as PyTorch's is: of the mean, of the square, of the layers.
  const Tensor<T> of_mean = scale_shift<P>(tensor_of<T>(scale), {.factor = 1.0f / rows});
  const Tensor<T> twice = scale_shift<P>(difference, {.factor = 2});
  const Tensor<T> of_predicted =
      scale_shift<P>(twice, {.factor = static_cast<f32>(to_double(of_mean.values()[0]))});
  const Tensor<T> of_hidden = product<T>(of_predicted, transposed(weight_2));
  const Tensor<T> of_before = each_of(WherePositive{}, of_hidden, hidden);

  const auto of_weight = [](const Tensor<T>& result, const Tensor<T>& input) {
    return product<T>(transposed(result), transposed(input));
  };
  const auto of_bias = [](const Tensor<T>& result) {
    return cast<T>(sum<P>(transposed(result), Over::last_axis));
  };
  append_unscaled(found, of_weight(of_before, x), scale, unscaled);
  append_unscaled(found, of_bias(of_before), scale, unscaled);
  append_unscaled(found, of_weight(of_predicted, hidden), scale, unscaled);
  append_unscaled(found, of_bias(of_predicted), scale, unscaled);
  return found;
}

Gradients SmallNetwork::backward_in_f16(double scale, Unscaled unscaled) const {
  return backward<f16>(scale, unscaled);
}
Gradients SmallNetwork::backward_in_f32() const { return backward<f32>(1, Unscaled::in_f32); }

}  // namespace precast::experiments
