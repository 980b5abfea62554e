// TorchGenerator: PyTorch's random numbers on the CPU, so that a seed gives the same picture.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>

#include <precast/tensor/tensor.hpp>

namespace precast::sampling {

/// `torch.Generator("cpu").manual_seed(seed)`: a Mersenne Twister (MT19937), seeded with the seed modulo
/// 2^32. Consecutive draws continue one stream, as consecutive torch.randn(..., generator=g) calls do.
class TorchGenerator {
 public:
  explicit TorchGenerator(std::uint64_t seed) : engine_(static_cast<std::uint32_t>(seed)) {}

  /// Standard normal values, as torch.randn(shape, generator=g, dtype=T) gives them, for f32, bf16 or f16
  /// (f32 values rounded). Bit-identical to PyTorch 2.15 on CPUs with AVX2.
  template <ScalarDtype T = f32>
  Tensor<T> randn(const Shape& shape);

  /// Uniform values in [low, high), as torch.empty(shape).uniform_(low, high, generator=g) gives them.
  /// Bit-identical to PyTorch 2.15 on CPUs with AVX2 or AVX-512, whose code fuses product and sum; other
  /// CPUs (ATEN_CPU_CAPABILITY=default) round both.
  Tensor<f32> uniform(const Shape& shape, f32 low, f32 high);

 private:
  void draw_few(std::span<f32> values);
  void draw_blocks(std::span<f32> values, bool takes_rest_first);
  void draw_block(std::span<f32, 16> values);
  f32 uniform_f32();
  double uniform_f64();
  double normal_f64();

  std::mt19937 engine_;
  std::optional<double> spare_;  // the second value of a Box-Muller pair, for the next short draw
};

}  // namespace precast::sampling
