// The CUDA kernel of a product whose weights are in nf4, run on the CPU by Precast's emulator: linear() here
// is what it would be under nvcc, and the kernel decodes blocks of a dtype that Precast does not know.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <vector>

#include <precast/ops/linear.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/tensor.hpp>

#include "nf4.hpp"

using namespace precast;
using extend::nf4;

// [emulated]
using WeightsInNf4 = Policy<Storage<nf4>, Compute<bf16>>;

/// x times the transposed weight, by the device's kernel.
HostTensor<bf16> product(const HostTensor<bf16>& x, HostStoredView<const nf4> weight) {
  const Tensor<bf16> there(x.shape(), x.values());
  return to_host(linear<WeightsInNf4>(there, LinearWeight<WeightsInNf4>(weight)));
}
// [emulated]

namespace {

/// The largest error of products of so many rows, in units of what rounding allows; of products with another
/// scale in one block where it is `spoiled`.
double worst_error(std::int64_t rows, std::int64_t columns, std::int64_t features, bool spoiled = false) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  HostTensor<bf16> x({rows, columns});
  for (bf16& value : x.values()) value = convert<bf16>(normal(random));
  HostStoredMatrix<nf4> stored({features, columns});
  std::vector<double> values(static_cast<std::size_t>(features * columns));
  for (std::int64_t feature = 0; feature < features; ++feature)
    for (std::int64_t first = 0; first < columns; first += 64) {
      float block[64], decoded[64];
      for (float& value : block) value = normal(random);
      nf4& to = stored.view().row(feature)[first / 64];
      encode_block(block, to);
      dtype_traits<nf4>::decode(to, 0, 64, decoded);
      // Operands are bf16: the kernel rounds what it decodes.
      for (std::int64_t i = 0; i < 64; ++i)
        values[static_cast<std::size_t>(feature * columns + first + i)] =
            to_double(convert<bf16>(decoded[i]));
    }
  f16& last = stored.view().row(features - 1)[columns / 64 - 1].scale;
  if (spoiled) last = convert<f16>(2 * convert<float>(last));
  const HostTensor<bf16> result = product(x, stored.view());
  double worst = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t feature = 0; feature < features; ++feature) {
      double sum = 0, magnitudes = 0;
      for (std::int64_t i = 0; i < columns; ++i) {
        const double term =
            to_double(x.data()[row * columns + i]) * values[static_cast<std::size_t>(feature * columns + i)];
        sum += term;
        magnitudes += std::abs(term);
      }
      // Half an ulp of bf16 for the result, and f32's eps for each addition.
      const double allowed = dtype_traits<bf16>::format.ulp(sum) / 2 +
                             static_cast<double>(columns) * dtype_traits<f32>::format.eps() * magnitudes;
      worst = std::max(worst, std::abs(to_double(result.data()[row * features + feature]) - sum) / allowed);
    }
  return worst;
}

}  // namespace

int main() {
  double worst = 0;
  bool noticed = true;
  for (const std::int64_t rows : {1, 33}) {
    worst = std::max(worst, worst_error(rows, 128, 40));
    noticed = noticed && worst_error(rows, 128, 40, true) > 1;
  }
  std::printf(
      "products with weights in nf4, by the device's kernels: largest error %.2f of what rounding allows\n",
      worst);
  return worst <= 1 && noticed ? 0 : 1;
}
