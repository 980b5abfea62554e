// Compiled against the kernels that kernels/ stamps for models.
#include <experiments/each_format.hpp>
#include <experiments/products.hpp>

#include <precast/ops/attention.hpp>
#include <precast/ops/linear.hpp>
#include <precast/policy/choice.hpp>

namespace precast::experiments {

namespace {

template <ScalarDtype T>
Tensor<T> linear_in(const Tensor<T>& x, const Tensor<T>& weight, std::span<const T> bias) {
  return linear<All<T>>(x, LinearWeight<All<T>>(weight.view(), bias));
}

template <PolicyType P>
AttendedRow attended(int width, double value) {
  using T = typename P::storage;
  const std::vector<double> numbers(static_cast<std::size_t>(width), value);
  const Shape shape{1, 1, width};
  const Tensor<T> query = tensor_of<T>(numbers).reshaped(shape), key = tensor_of<T>(numbers).reshaped(shape);
  const std::vector<double> ones(static_cast<std::size_t>(width), 1);
  const Tensor<T> values = tensor_of<T>(ones).reshaped(shape);
  const auto out = attention<P>(query, key, values, {.heads = 1, .scale = 1.0f});
  return {to_string(choice_of<P>()), std::string(dtype_name<typename precisions<P, Attention>::inside>()),
          to_double(out.values()[0])};
}

}  // namespace

Tensor<f16> linear_in_f16(const Tensor<f16>& x, const Tensor<f16>& weight, std::span<const f16> bias) {
  return linear_in<f16>(x, weight, bias);
}
Tensor<f32> linear_in_f32(const Tensor<f32>& x, const Tensor<f32>& weight, std::span<const f32> bias) {
  return linear_in<f32>(x, weight, bias);
}

std::vector<AttendedRow> attended_rows(int width, double value) {
  return {attended<Policy<Storage<f16>>>(width, value),
          attended<Policy<Storage<f16>, Upcast<Attention>>>(width, value),
          attended<Policy<Storage<f16>, Flash>>(width, value), attended<Policy<Storage<bf16>>>(width, value),
          attended<Policy<Storage<f32>>>(width, value)};
}

}  // namespace precast::experiments
