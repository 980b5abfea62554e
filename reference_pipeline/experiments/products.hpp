// The ops of experiments whose kernels are the pipeline's own: products and attention in 16 bits.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <precast/dtype/scalar.hpp>
#include <precast/tensor/owned_tensor.hpp>

namespace precast::experiments {

/// x W^T + bias as a policy of f16 computes it: operands f16, sums f32, the result rounded to f16. x [rows,
/// in], weight [out, in], bias [out] or empty.
Tensor<f16> linear_in_f16(const Tensor<f16>& x, const Tensor<f16>& weight, std::span<const f16> bias = {});
/// The same in f32.
Tensor<f32> linear_in_f32(const Tensor<f32>& x, const Tensor<f32>& weight, std::span<const f32> bias = {});

/// The result of attention under one policy for one query and one key, each of `width` values of `value`.
struct AttendedRow {
  std::string policy;  ///< its C++ spelling
  std::string scores;  ///< the dtype in which scores are kept
  double result;       ///< 1 where nothing overflows: the values are all 1
};
std::vector<AttendedRow> attended_rows(int width, double value);

}  // namespace precast::experiments
