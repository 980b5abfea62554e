// A matrix product and an attention under two policies, and what each costs in accuracy: the same call,
// another type. Only headers are needed: g++ -std=c++20 -O3 -march=native -Iinclude
// examples/matmul_attention.cpp -ldnnl -lgomp
#include <cmath>
#include <cstdio>
#include <random>

#include <precast/ops/attention.hpp>
#include <precast/ops/cast.hpp>
#include <precast/ops/linear.hpp>
#include <precast/policy/presets.hpp>

using namespace precast;

// A policy is a set of options, in any order. These two differ in one: whether attention is computed in f32.
using Plain = Policy<Storage<f16>>;
using Upcasted = Policy<Storage<f16>, Upcast<Attention>>;

namespace {

Tensor<f32> random_tensor(const Shape& shape, float size) {
  static std::mt19937 random(1);
  std::normal_distribution<float> normal(0, size);
  Tensor<f32> tensor(shape);
  for (f32& value : tensor.values()) value = normal(random);
  return tensor;
}

// A layer's weight at rest in the policy's storage.
template <PolicyType P>
LinearWeight<P> store(const Tensor<f32>& values) {
  const auto stored = cast<typename P::storage>(values);
  return LinearWeight<P>(stored.view());
}

template <class T>
double relative_error(const Tensor<T>& result, const Tensor<f32>& reference) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < reference.values().size(); ++i) {
    const double expected = to_double(reference.values()[i]);
    const double difference = to_double(result.values()[i]) - expected;
    error += difference * difference;
    norm += expected * expected;
  }
  return std::sqrt(error / norm);
}

template <PolicyType P>
void report(const char* name, const Tensor<f32>& x, const Tensor<f32>& weight, const Tensor<f32>& q,
            const Tensor<f32>& k, const Tensor<f32>& v) {
  const AttentionOptions options{.heads = 4};
  const auto product = linear<P>(x, store<P>(weight));
  const auto attended = attention<P>(q, k, v, options);
  const auto exact_product = linear<presets::Quality>(x, store<presets::Quality>(weight));
  const auto exact_attended = attention<presets::Quality>(q, k, v, options);
  const double error = relative_error(attended, exact_attended);
  std::printf("%-41s linear %.1e   attention ", name, relative_error(product, exact_product));
  if (std::isnan(error))
    std::puts("NaN");
  else
    std::printf("%.1e\n", error);
}

}  // namespace

int main() {
  const Tensor<f32> x = random_tensor({64, 256}, 1), weight = random_tensor({256, 256}, 0.0625f);
  // Queries and keys large enough that scores pass 65504: an f16 score is then infinite, and its row NaN.
  const Tensor<f32> q = random_tensor({1, 64, 256}, 150), k = random_tensor({1, 64, 256}, 150);
  const Tensor<f32> v = random_tensor({1, 64, 256}, 1);
  std::puts("relative error against f32:");
  report<Plain>("Policy<Storage<f16>>", x, weight, q, k, v);
  report<Upcasted>("Policy<Storage<f16>, Upcast<Attention>>", x, weight, q, k, v);
  report<presets::Fast>("Policy<Storage<bf16>, Flash>", x, weight, q, k, v);
}
