// Norms in float64, and error bounds of a kernel's results.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include <support/arrays.hpp>

namespace precast::testing {

// The kernels add at most 64 values in a row and then sum a tree of at most 30 levels; a mean is carried in
// two parts, so a normalised value is off by this many roundings of itself and of 1, the standard deviation.
inline constexpr double norm_roundings = 100;

struct NormReference {
  double mean = 0, variance = 0, mean_square = 0;
  template <class Range>
  explicit NormReference(const Range& values) {
    const auto n = static_cast<double>(values.size());
    for (const double x : values) mean += x / n;
    for (const double x : values) variance += (x - mean) * (x - mean) / n;
    for (const double x : values) mean_square += x * x / n;
  }
};

inline std::vector<double> row_of(const std::vector<double>& all, std::int64_t row, std::int64_t columns) {
  return {all.begin() + row * columns, all.begin() + (row + 1) * columns};
}

struct ExpectedNorm {
  std::vector<double> values, bounds;
  void add(double normalised, double scale, double shift) {
    values.push_back(normalised * scale + shift);
    bounds.push_back(bound_of(normalised, scale, shift));
  }
  static double bound_of(double normalised, double scale, double shift) {
    return norm_roundings * unit<f32> * (std::abs(scale) * (std::abs(normalised) + 1) + std::abs(shift));
  }
  auto bound() const {
    return [this](std::size_t i) { return bounds[i]; };
  }
  /// silu of the same: its slope is at most 1.1, and it is within 3 ulp itself.
  ExpectedNorm silu() const {
    ExpectedNorm result = *this;
    for (std::size_t i = 0; i < values.size(); ++i) {
      result.bounds[i] = 1.1 * bounds[i] + 8 * unit<f32> * std::abs(values[i]);
      result.values[i] = values[i] / (1 + std::exp(-values[i]));
    }
    return result;
  }
};

/// Layer norm of rows of `columns` values. `scale` and `shift` hold a row for each `rows_each` rows, or one
/// for all where that is 0; empty, they are 1 and 0.
inline ExpectedNorm expected_layer_norm(const std::vector<double>& x, std::int64_t columns,
                                        std::int64_t rows_each, const std::vector<double>& scale,
                                        const std::vector<double>& shift, double eps) {
  ExpectedNorm expected;
  const std::int64_t rows = columns ? static_cast<std::int64_t>(x.size()) / columns : 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto row = row_of(x, r, columns);
    const NormReference reference(row);
    for (std::int64_t c = 0; c < columns; ++c) {
      const auto at = static_cast<std::size_t>((rows_each ? r / rows_each : 0) * columns + c);
      expected.add((row[static_cast<std::size_t>(c)] - reference.mean) / std::sqrt(reference.variance + eps),
                   scale.empty() ? 1 : scale[at], shift.empty() ? 0 : shift[at]);
    }
  }
  return expected;
}

/// RMS norm of rows as wide as `scale`.
inline ExpectedNorm expected_rms_norm(const std::vector<double>& x, const std::vector<double>& scale,
                                      double eps) {
  ExpectedNorm expected;
  const auto width = static_cast<std::int64_t>(scale.size());
  const std::int64_t rows = width ? static_cast<std::int64_t>(x.size()) / width : 0;
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto row = row_of(x, r, width);
    const NormReference reference(row);
    for (std::size_t c = 0; c < row.size(); ++c)
      expected.add(row[c] / std::sqrt(reference.mean_square + eps), scale[c], 0);
  }
  return expected;
}

/// Group norm of [batch, pixels, channels] with a weight and bias for each channel.
inline ExpectedNorm expected_group_norm(const std::vector<double>& x, std::int64_t batch,
                                        std::int64_t channels, std::int64_t groups,
                                        const std::vector<double>& weight, const std::vector<double>& bias,
                                        double eps) {
  const std::int64_t pixels = x.empty() ? 0 : static_cast<std::int64_t>(x.size()) / (batch * channels);
  const std::int64_t in_group = channels / groups;
  ExpectedNorm expected;
  expected.values.resize(x.size());
  expected.bounds.resize(x.size());
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t g = 0; g < groups; ++g) {
      const auto at = [&](std::int64_t p, std::int64_t i) {
        return static_cast<std::size_t>((n * pixels + p) * channels + g * in_group + i);
      };
      std::vector<double> group;
      for (std::int64_t p = 0; p < pixels; ++p)
        for (std::int64_t i = 0; i < in_group; ++i) group.push_back(x[at(p, i)]);
      const NormReference reference(group);
      for (std::int64_t p = 0; p < pixels; ++p)
        for (std::int64_t i = 0; i < in_group; ++i) {
          const auto channel = static_cast<std::size_t>(g * in_group + i);
          const double normalised = (x[at(p, i)] - reference.mean) / std::sqrt(reference.variance + eps);
          expected.values[at(p, i)] = normalised * weight[channel] + bias[channel];
          expected.bounds[at(p, i)] = ExpectedNorm::bound_of(normalised, weight[channel], bias[channel]);
        }
    }
  }
  return expected;
}

}  // namespace precast::testing
