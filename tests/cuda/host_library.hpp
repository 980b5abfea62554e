// A library of products on the host, in cuBLASLt's place: the emulator runs our kernels, and nobody has
// cuBLASLt's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <simt/stream.hpp>

#include <precast/cuda/matmul/cublaslt.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::testing {

/// Computes products in float64. Throws std::logic_error where it is told of another alignment than a matrix
/// has. Must outlive its use.
struct HostLibrary {
  std::vector<gpu::ProductRequest> multiplied;
  bool has_code = true;    ///< false: it says that it has code for nothing
  bool multiplies = true;  ///< false: it says otherwise, and refuses when it is called
  std::size_t workspace_bytes = 0;

  gpu::ProductLibrary library() {
    return {.has_code = [this](const gpu::ProductRequest&) { return has_code; },
            .multiply =
                [this](const gpu::ProductRequest& product, gpu::Stream stream) {
                  check_alignment(product);
                  multiplied.push_back(product);
                  if (multiplies) multiply(product, stream);
                  return multiplies;
                },
            .workspace_bytes = workspace_bytes};
  }

 private:
  /// The largest power of two up to 16 on whose multiples all rows begin.
  static std::uint32_t alignment(const void* data, std::int64_t rows, std::int64_t stride_bytes) {
    std::uint32_t bytes = 16;
    for (std::int64_t r = 0; r < std::min<std::int64_t>(rows, 2); ++r)
      while ((reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>(r * stride_bytes)) % bytes)
        bytes /= 2;
    return bytes;
  }
  static std::int64_t bytes_of(gpu::LibraryDtype dtype) {
    switch (dtype) {
      case gpu::LibraryDtype::f32:
      case gpu::LibraryDtype::tf32:
        return 4;
      case gpu::LibraryDtype::bf16:
      case gpu::LibraryDtype::f16:
        return 2;
      case gpu::LibraryDtype::fp8_e4m3:
        return 1;
    }
    return 0;
  }
  static void check_alignment(const gpu::ProductRequest& p) {
    const auto check = [](const char* matrix, std::uint32_t told, std::uint32_t there) {
      if (told != there)
        throw std::logic_error(std::string("the library is told that ") + matrix + " is aligned to " +
                               std::to_string(told) + " bytes, and it is to " + std::to_string(there));
    };
    const std::int64_t operand = bytes_of(p.operand), result = bytes_of(p.result);
    check("x", p.x.rows.alignment,
          alignment(p.x.data, p.x_transposed ? p.columns : p.rows, p.x.rows.stride * operand));
    check("the weight", p.weight.rows.alignment,
          alignment(p.weight.data, p.weight_transposed ? p.columns : p.features,
                    p.weight.rows.stride * operand));
    check("the result", p.out.rows.alignment, alignment(p.out.data, p.rows, p.out.rows.stride * result));
    if (p.has_residual)
      check("the residual", p.residual.rows.alignment,
            alignment(p.residual.data, p.rows, p.residual.rows.stride * result));
    if (p.has_bias) check("the bias", 16, alignment(p.bias, 1, 0));
  }

  static double value(gpu::LibraryDtype dtype, const void* data, std::int64_t index) {
    switch (dtype) {
      case gpu::LibraryDtype::f32:
      case gpu::LibraryDtype::tf32:
        return static_cast<const f32*>(data)[index];
      case gpu::LibraryDtype::bf16:
        return to_double(static_cast<const bf16*>(data)[index]);
      case gpu::LibraryDtype::f16:
        return to_double(static_cast<const f16*>(data)[index]);
      case gpu::LibraryDtype::fp8_e4m3:
        return to_double(static_cast<const fp8_e4m3*>(data)[index]);
    }
    return 0;
  }
  static void store(gpu::LibraryDtype dtype, void* data, std::int64_t index, double value) {
    if (dtype == gpu::LibraryDtype::f32) static_cast<f32*>(data)[index] = from_double<f32>(value);
    if (dtype == gpu::LibraryDtype::bf16) static_cast<bf16*>(data)[index] = from_double<bf16>(value);
    if (dtype == gpu::LibraryDtype::f16) static_cast<f16*>(data)[index] = from_double<f16>(value);
  }

  void multiply(const gpu::ProductRequest& p, gpu::Stream stream) const {
    const simt::StreamWork work("the library's product", stream);
    if (p.workspace_bytes) work.writes(p.workspace, p.workspace_bytes);
    for (const void* operand : {p.x.data, p.weight.data, p.bias, p.residual.data})
      if (operand) work.reads(operand, 1);
    work.writes(p.out.data, 1);
    const std::int64_t x_stride = p.x.rows.stride, weight_stride = p.weight.rows.stride;
    for (std::int64_t r = 0; r < p.rows; ++r)
      for (std::int64_t f = 0; f < p.features; ++f) {
        double sum = 0;
        for (std::int64_t k = 0; k < p.columns; ++k)
          sum += value(p.operand, p.x.data, p.x_transposed ? k * x_stride + r : r * x_stride + k) *
                 value(p.operand, p.weight.data,
                       p.weight_transposed ? k * weight_stride + f : f * weight_stride + k);
        if (p.has_bias) sum += value(p.result, p.bias, f);
        if (p.gelu_tanh)
          sum /= 1 + std::exp(-2 * std::sqrt(2 / std::acos(-1.0)) * (sum + 0.044715 * sum * sum * sum));
        if (p.has_residual) sum += value(p.result, p.residual.data, r * p.residual.rows.stride + f);
        store(p.result, p.out.data, r * p.out.rows.stride + f, sum);
      }
  }
};

}  // namespace precast::testing
