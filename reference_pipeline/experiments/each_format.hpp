// Shared by experiments: a loop over the three formats of training, and numbers as tensors that ops take.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <sampling/linspace.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/owned_tensor.hpp>

namespace precast::experiments {

/// Everything in one format: results are rounded to it after each op, and sums are f32.
template <ScalarDtype T>
using All = Policy<Storage<T>>;

template <ScalarDtype T>
std::string name_of() {
  return std::string(dtype_traits<T>::name);
}

/// Calls `function.operator()<T>()` for f16, bf16 and f32, in the order of the sources' tables.
template <class Function>
void for_each_format(Function&& function) {
  function.template operator()<f16>();
  function.template operator()<bf16>();
  function.template operator()<f32>();
}

/// Numbers as a tensor [count], each rounded once.
template <ScalarDtype T>
Tensor<T> tensor_of(std::span<const double> values) {
  Tensor<T> tensor(Shape{static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) tensor.values()[i] = from_double<T>(values[i]);
  return tensor;
}
template <ScalarDtype T>
Tensor<T> tensor_of(double value) {
  return tensor_of<T>(std::span<const double>(&value, 1));
}

/// The values of a tensor as doubles, exactly.
template <ScalarDtype T>
std::vector<double> doubles_of(const Tensor<T>& tensor) {
  std::vector<double> values;
  values.reserve(tensor.values().size());
  for (const T value : tensor.values()) values.push_back(to_double(value));
  return values;
}

/// sampling::linspace as doubles.
inline std::vector<double> even_steps(f32 first, f32 last, int count) {
  const std::vector<f32> values = sampling::linspace(first, last, count);
  return {values.begin(), values.end()};
}

}  // namespace precast::experiments
