// Attention on CUDA from headers alone, under two policies. Built by hand:
//   nvcc -std=c++20 -arch=sm_80 -I include examples/cuda/attention.cu -o attention
// The same file runs in the emulator, where the tests build it with a host compiler.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include <precast/ops/attention.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/tensor.hpp>

using namespace precast;

namespace {

constexpr std::int64_t tokens = 40, heads = 2, width = 64;

/// Values that bf16 has too: both policies are given the same.
std::vector<f32> random_values(std::uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<f32> normal;
  std::vector<f32> values(static_cast<std::size_t>(tokens * heads * width));
  for (f32& value : values) value = convert<f32>(convert<bf16>(normal(generator)));
  return values;
}

/// Uploads values as T: [1, tokens, heads * width].
template <ScalarDtype T>
Tensor<T> on_device(const std::vector<f32>& values) {
  std::vector<T> converted;
  for (const f32 value : values) converted.push_back(convert<T>(value));
  return Tensor<T>(Shape{1, tokens, heads * width}, std::span<const T>(converted));
}

/// softmax(q k^T / sqrt(width)) v of one head, query and column, in float64.
double exact(const std::vector<f32>& q, const std::vector<f32>& k, const std::vector<f32>& v,
             std::int64_t head, std::int64_t query, std::int64_t column) {
  const auto at = [&](const std::vector<f32>& x, std::int64_t token, std::int64_t c) {
    return static_cast<double>(x[static_cast<std::size_t>((token * heads + head) * width + c)]);
  };
  double sum = 0, weighted = 0;
  for (std::int64_t key = 0; key < tokens; ++key) {
    double score = 0;
    for (std::int64_t c = 0; c < width; ++c) score += at(q, query, c) * at(k, key, c);
    const double weight = std::exp(score / std::sqrt(static_cast<double>(width)));
    sum += weight;
    weighted += weight * at(v, key, column);
  }
  return weighted / sum;
}

/// The largest error of attention under a policy, in units of the largest value: the result is a mean of
/// values, and what its weights are off by is multiplied by them.
template <PolicyType P>
double largest_error() {
  using Activation = typename P::activation;
  const auto q = random_values(1), k = random_values(2), v = random_values(3);
  AttentionOptions options;
  options.heads = heads;
  const Tensor<Activation> on_gpu =
      attention<P>(on_device<Activation>(q), on_device<Activation>(k), on_device<Activation>(v), options);
  const HostTensor<Activation> result = to_host(on_gpu);
  double largest = 0, largest_value = 0;
  for (const f32 value : v) largest_value = std::fmax(largest_value, std::fabs(static_cast<double>(value)));
  for (std::int64_t query = 0; query < tokens; ++query)
    for (std::int64_t c = 0; c < heads * width; ++c)
      largest =
          std::fmax(largest, std::fabs(to_double(result.view().row(query)[static_cast<std::size_t>(c)]) -
                                       exact(q, k, v, c / width, query, c % width)));
  return largest / largest_value;
}

}  // namespace

int main() {
  try {
    const double in_bf16 = largest_error<Policy<Storage<bf16>, Flash>>();
    const double in_f32 = largest_error<Policy<Storage<bf16>, Activation<f32>, Upcast<Attention>, Flash>>();
    std::printf("largest error, of the largest value: bf16 %.1e, upcast to f32 %.1e\n", in_bf16, in_f32);
    // bf16 rounds the weights and the result, each by 2^-9 at most; sums in f32 are off by less than a third.
    return in_bf16 < 3 * 0x1p-9 && in_f32 < 0x1p-9 ? 0 : 1;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
