// TorchGenerator: the random numbers that PyTorch draws on the CPU, so that a seed means the same picture.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>

#include <precast/tensor/tensor.hpp>

namespace precast::sampling {

/// What `torch.Generator("cpu").manual_seed(seed)` is: a Mersenne Twister (MT19937), seeded with the seed
/// modulo 2^32. Draws continue one stream, as torch.randn(..., generator=g) does call after call.
class TorchGenerator {
 public:
  explicit TorchGenerator(std::uint64_t seed) : engine_(static_cast<std::uint32_t>(seed)) {}

  /// Standard normal values, as torch.randn(shape, generator=g, dtype=T) gives them: f32, bf16 or f16, of
  /// which the last two are f32 values rounded. Bit for bit what PyTorch 2.15 draws on CPUs with AVX2.
  template <ScalarDtype T = f32>
  Tensor<T> randn(const Shape& shape);

  /// Values spread evenly over [low, high), as torch.empty(shape).uniform_(low, high, generator=g) gives
  /// them. Bit for bit what PyTorch 2.15 draws on CPUs with AVX2 or AVX-512, whose code fuses the product
  /// with the sum; that of other CPUs (ATEN_CPU_CAPABILITY=default) rounds both.
  Tensor<f32> uniform(const Shape& shape, f32 low, f32 high);

 private:
  void draw_few(std::span<f32> values);
  void draw_blocks(std::span<f32> values, bool takes_rest_first);
  void draw_block(std::span<f32, 16> values);
  f32 uniform_f32();
  double uniform_f64();
  double normal_f64();

  std::mt19937 engine_;
  std::optional<double> spare_;  // Box-Muller makes two values; a short draw may leave one for the next
};

}  // namespace precast::sampling
