// Attention's cases: their inputs, and their results in float64.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <support/arrays.hpp>

namespace precast::testing {

/// The sizes of an attention, and what its scores go through.
struct AttentionCase {
  std::int64_t batch, heads, queries, keys, width;
  bool causal = false, biased = false;
  f32 scale = 0;
  double size = 1;  ///< of queries and keys

  constexpr std::int64_t multiplications() const { return 2 * batch * heads * queries * keys * width; }
};

/// What an attention is computed from.
template <class T>
struct AttentionInputs {
  HostTensor<T> q, k, v;
  HostTensor<f32> bias;

  explicit AttentionInputs(const AttentionCase& c)
      : q(random_tensor<T>(Shape{c.batch, c.queries, c.heads * c.width}, 1, c.size)),
        k(random_tensor<T>(Shape{c.batch, c.keys, c.heads * c.width}, 2, c.size)),
        v(random_tensor<T>(Shape{c.batch, c.keys, c.heads * c.width}, 3, 1, 0.5)),
        bias(c.biased ? random_tensor<f32>(Shape{c.heads, c.queries, c.keys}, 4, 2)
                      : HostTensor<f32>(Shape{0})) {
    for (std::int64_t i = 0; i < bias.elements(); i += 3)
      bias.data()[i] = -std::numeric_limits<f32>::infinity();
  }
};

/// Growth of the error of a sum of n terms with the probabilistic bound of Higham and Mary (2019), lambda
/// = 6.
inline double growth(std::int64_t n) { return 6 * std::sqrt(static_cast<double>(n) + 1); }

/// What attention should give, and how far off the policy's roundings may bring it.
template <class Types>
struct AttentionReference {
  std::vector<double> values, bounds;

  auto bound() const {
    return [this](std::size_t i) { return bounds[i]; };
  }

  template <class T>
  AttentionReference(const AttentionCase& c, const AttentionInputs<T>& in, bool flash) {
    using Operand = typename Types::operand;
    using Inside = typename Types::inside;
    const auto rounded = [](const HostTensor<T>& x) {
      std::vector<double> result = wide(x);
      for (double& value : result) value = to_double(from_double<Operand>(value));
      return result;
    };
    const auto wq = rounded(in.q), wk = rounded(in.k), wv = rounded(in.v);
    const std::int64_t stride = c.heads * c.width;
    const double scale = c.scale != 0 ? c.scale : 1 / std::sqrt(static_cast<double>(c.width));
    const double u_sum = unit<typename Types::accumulate>, u_inside = unit<Inside>,
                 u_weight = unit<Operand> + (flash ? 0 : u_inside);
    const double lost_weight = smallest<Operand> + (flash ? 0 : smallest<Inside>)+std::exp(-86.0);
    values.assign(static_cast<std::size_t>(c.batch * c.queries * stride), 0);
    bounds = values;
    std::vector<double> scores(static_cast<std::size_t>(c.keys));
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t h = 0; h < c.heads; ++h)
        for (std::int64_t i = 0; i < c.queries; ++i) {
          const std::int64_t seen = c.causal ? std::min(c.keys, i + 1) : c.keys;
          double most = -HUGE_VAL, off = 0, sum = 0;
          for (std::int64_t j = 0; j < seen; ++j) {
            double dot = 0, length = 0;
            for (std::int64_t d = 0; d < c.width; ++d) {
              const double product =
                  wq[static_cast<std::size_t>((b * c.queries + i) * stride + h * c.width + d)] *
                  wk[static_cast<std::size_t>((b * c.keys + j) * stride + h * c.width + d)];
              dot += product;
              length += std::abs(product);
            }
            double& score = scores[static_cast<std::size_t>(j)];
            score = dot * scale + (c.biased ? in.bias.data()[(h * c.queries + i) * c.keys + j] : 0.0);
            most = std::max(most, score);
            if (std::isinf(score)) continue;
            off = std::max(
                off, scale * length * u_sum * growth(c.width) + std::abs(score) * (u_inside + 3 * unit<f32>));
          }
          for (std::int64_t j = 0; j < seen; ++j) {
            double& score = scores[static_cast<std::size_t>(j)];
            score = most == -HUGE_VAL ? 0 : std::exp(score - most);
            sum += score;
          }
          for (std::int64_t d = 0; d < c.width; ++d) {
            double result = 0, length = 0, lost = 0;
            for (std::int64_t j = 0; j < seen; ++j) {
              const double value = wv[static_cast<std::size_t>((b * c.keys + j) * stride + h * c.width + d)];
              const double weight = sum > 0 ? scores[static_cast<std::size_t>(j)] / sum : 0;
              result += weight * value;
              length += weight * std::abs(value);
              lost += std::abs(value) * lost_weight;
            }
            const auto at = static_cast<std::size_t>((b * c.queries + i) * stride + h * c.width + d);
            values[at] = result;
            // Errors of scores shift every exponent, and once more the sum of all.
            bounds[at] = length * (std::expm1(2 * off) + u_weight + 8 * unit<f32> +
                                   growth(seen) * (u_sum + unit<f32>)) +
                         lost;
          }
        }
  }
};

}  // namespace precast::testing
