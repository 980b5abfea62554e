// Random matrices in the tests' block dtype, and their values.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

#include <support/block_dtype.hpp>

#include <precast/tensor/stored_matrix.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::testing {

/// A matrix whose blocks have scales of their own, up to 64 times apart. What follows the last column of a
/// row in its block is not part of the row.
inline BlockMatrix<Blocks32, HostMemory> random_blocks(const Shape& shape, std::uint32_t seed,
                                                       double scale = 1) {
  BlockMatrix<Blocks32, HostMemory> matrix(shape);
  std::mt19937 engine(seed);
  std::uniform_int_distribution<int> integer(-127, 127), exponent(-6, 0);
  for (std::int64_t r = 0; r < matrix.rows(); ++r)
    for (std::int64_t b = 0; b < matrix.view().blocks_per_row(); ++b) {
      Blocks32& block = matrix.view().row(r)[b];
      block.scale =
          from_double<f16>(scale / 127 * std::ldexp(1 + integer(engine) / 1000.0, exponent(engine))).bits;
      for (auto& value : block.integers) value = static_cast<std::int8_t>(integer(engine));
    }
  return matrix;
}

/// A matrix of small integers and scales of 1, 2 and 4, whose products with integers are exact.
inline BlockMatrix<Blocks32, HostMemory> random_integer_blocks(const Shape& shape, std::uint32_t seed) {
  BlockMatrix<Blocks32, HostMemory> matrix(shape);
  std::mt19937 engine(seed);
  const std::int64_t blocks = matrix.rows() * matrix.view().blocks_per_row();
  for (std::int64_t b = 0; b < blocks; ++b) {
    matrix.data()[b].scale = from_double<f16>(1 << b % 3).bits;
    for (auto& value : matrix.data()[b].integers)
      value = static_cast<std::int8_t>(static_cast<int>(engine() % 9) - 4);
  }
  return matrix;
}

/// Its values, exactly.
inline HostTensor<f32> values_of(const BlockMatrix<Blocks32, HostMemory>& matrix) {
  HostTensor<f32> values(matrix.shape());
  for (std::int64_t r = 0; r < matrix.rows(); ++r)
    for (std::int64_t c = 0; c < matrix.columns(); ++c) {
      const Blocks32& block = matrix.view().row(r)[c / 32];
      values.data()[r * matrix.columns() + c] =
          static_cast<f32>(to_double(f16{block.scale}) * block.integers[c % 32]);
    }
  return values;
}

/// The matrix with each block's scale replaced by that of the block before it: tests must detect that.
inline BlockMatrix<Blocks32, HostMemory> with_scales_of_others(
    const BlockMatrix<Blocks32, HostMemory>& matrix) {
  BlockMatrix<Blocks32, HostMemory> wrong(matrix.view());
  const std::int64_t blocks = matrix.rows() * matrix.view().blocks_per_row();
  for (std::int64_t b = 0; b < blocks; ++b)
    wrong.data()[b].scale = matrix.data()[(b + blocks - 1) % blocks].scale;
  return wrong;
}

}  // namespace precast::testing
