// Attention's cases: their inputs, and their results in float64.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include <support/arrays.hpp>

#include <precast/tensor/heads_view.hpp>

namespace precast::testing {

/// The memory layout of heads.
enum class Layout {
  joined,         ///< [B, S, H * D], which knows nothing of heads
  rows_of_heads,  ///< [B, S, H, D]
  heads_of_rows,  ///< [B, H, S, D]
  apart,          ///< [B, S, H, D] with a gap after each head, row and picture
};

/// The sizes of an attention, and the options of its scores.
struct AttentionCase {
  std::int64_t batch, heads, queries, keys, width;
  bool causal = false, biased = false;
  std::optional<f32> scale{};
  double size = 1;                         ///< of queries and keys
  std::optional<std::int64_t> heads_kv{};  ///< of keys and values
  std::optional<std::int64_t> width_v{};   ///< of values
  Layout layout = Layout::joined;

  constexpr std::int64_t kv_heads() const { return heads_kv.value_or(heads); }
  constexpr std::int64_t value_width() const { return width_v.value_or(width); }
  constexpr std::int64_t multiplications() const {
    return batch * heads * queries * keys * (width + value_width());
  }
};

/// A case with other sizes of keys and values, in another layout.
constexpr AttentionCase with_heads(AttentionCase c, std::int64_t heads_kv, std::int64_t width_v,
                                   Layout layout = Layout::joined) {
  c.heads_kv = heads_kv;
  c.width_v = width_v;
  c.layout = layout;
  return c;
}

/// Heads [batch, rows, heads, width] in a layout, and how long an array they need; `gap` values are between
/// those that are apart.
struct HeadsInLayout {
  Shape shape;
  HeadsStrides strides;
  std::int64_t length = 0;

  HeadsInLayout(const Shape& heads, Layout layout, std::int64_t gap) : shape(heads) {
    const std::int64_t rows = heads[1], count = heads[2], width = heads[3];
    if (layout == Layout::heads_of_rows) {
      strides = {rows * count * width, width, rows * width};
    } else {
      const std::int64_t between = layout == Layout::apart ? gap : 0, head = width + between;
      strides = {rows * (count * head + between) + between, count * head + between, head};
    }
    length = heads[0] * std::max(strides.batch, std::int64_t{1});
  }
  template <class T>
  HeadsView<T> of(T* data) const {
    return {data, shape, strides};
  }
  /// Calls `function(place in the layout, place in [B, S, H * D])` for each value.
  template <class F>
  void each(F&& function) const {
    std::int64_t place = 0;
    for (std::int64_t b = 0; b < shape[0]; ++b)
      for (std::int64_t s = 0; s < shape[1]; ++s)
        for (std::int64_t h = 0; h < shape[2]; ++h)
          for (std::int64_t d = 0; d < shape[3]; ++d, ++place)
            function(b * strides.batch + s * strides.row + h * strides.head + d, place);
  }
  /// The values of [B, S, H * D] in this layout, with 7 in the gaps.
  template <class T>
  HostTensor<T> spread(const HostTensor<T>& joined) const {
    HostTensor<T> result(Shape{length});
    for (T& value : result.values()) value = from_double<T>(7);
    each([&](std::int64_t here, std::int64_t there) { result.data()[here] = joined.data()[there]; });
    return result;
  }
};

/// The inputs of an attention.
template <class T>
struct AttentionInputs {
  HostTensor<T> q, k, v;
  HostTensor<f32> bias;

  explicit AttentionInputs(const AttentionCase& c)
      : q(random_tensor<T>(Shape{c.batch, c.queries, c.heads * c.width}, 1, c.size)),
        k(random_tensor<T>(Shape{c.batch, c.keys, c.kv_heads() * c.width}, 2, c.size)),
        v(random_tensor<T>(Shape{c.batch, c.keys, c.kv_heads() * c.value_width()}, 3, 1, 0.5)),
        bias(c.biased ? random_tensor<f32>(Shape{c.heads, c.queries, c.keys}, 4, 2)
                      : HostTensor<f32>(Shape{0})) {
    for (std::int64_t i = 0; i < bias.elements(); i += 3)
      bias.data()[i] = -std::numeric_limits<f32>::infinity();
  }
};

/// Growth of the error of a sum of n terms with the probabilistic bound of Higham and Mary (2019), lambda
/// = 6.
inline double growth(std::int64_t n) { return 6 * std::sqrt(static_cast<double>(n) + 1); }

/// Attention's expected results, and error bounds from the policy's roundings.
template <class Types>
struct AttentionReference {
  std::vector<double> values, bounds;
  std::vector<double> log_sums, log_sum_bounds;  ///< of the rows of scores of each head

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
    const std::int64_t wide_v = c.value_width(), stride = c.heads * c.width,
                       stride_k = c.kv_heads() * c.width, stride_v = c.kv_heads() * wide_v,
                       stride_out = c.heads * wide_v;
    // Without a single product a score is 0 under any scale.
    const double scale = c.scale       ? static_cast<double>(*c.scale)
                         : c.width > 0 ? 1 / std::sqrt(static_cast<double>(c.width))
                                       : 1;
    const double u_sum = unit<typename Types::accumulate>, u_inside = unit<Inside>,
                 u_weight = unit<Operand> + (flash ? 0 : u_inside);
    const double lost_weight = smallest<Operand> + (flash ? 0 : smallest<Inside>)+std::exp(-86.0);
    values.assign(static_cast<std::size_t>(c.batch * c.queries * stride_out), 0);
    bounds = values;
    std::vector<double> scores(static_cast<std::size_t>(c.keys));
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t h = 0; h < c.heads; ++h)
        for (std::int64_t i = 0; i < c.queries; ++i) {
          const std::int64_t seen = c.causal ? std::min(c.keys, i + 1) : c.keys,
                             shared = h * c.kv_heads() / c.heads;  // the head of keys and values
          double most = -HUGE_VAL, off = 0, sum = 0;
          for (std::int64_t j = 0; j < seen; ++j) {
            double dot = 0, length = 0;
            for (std::int64_t d = 0; d < c.width; ++d) {
              const double product =
                  wq[static_cast<std::size_t>((b * c.queries + i) * stride + h * c.width + d)] *
                  wk[static_cast<std::size_t>((b * c.keys + j) * stride_k + shared * c.width + d)];
              dot += product;
              length += std::abs(product);
            }
            double& score = scores[static_cast<std::size_t>(j)];
            score = dot * scale + (c.biased ? in.bias.data()[(h * c.queries + i) * c.keys + j] : 0.0);
            most = std::max(most, score);
            if (std::isinf(score)) continue;
            off = std::max(off, std::abs(scale) * length * u_sum * growth(c.width) +
                                    std::abs(score) * (u_inside + 3 * unit<f32>));
          }
          for (std::int64_t j = 0; j < seen; ++j) {
            double& score = scores[static_cast<std::size_t>(j)];
            score = most == -HUGE_VAL ? 0 : std::exp(score - most);
            sum += score;
          }
          log_sums.push_back(most == -HUGE_VAL ? most : most + std::log(sum));
          log_sum_bounds.push_back(off + std::abs(most) * u_inside + (growth(seen) + 8) * unit<f32>);
          for (std::int64_t d = 0; d < wide_v; ++d) {
            double result = 0, length = 0, lost = 0;
            for (std::int64_t j = 0; j < seen; ++j) {
              const double value =
                  wv[static_cast<std::size_t>((b * c.keys + j) * stride_v + shared * wide_v + d)];
              const double weight = sum > 0 ? scores[static_cast<std::size_t>(j)] / sum : 0;
              result += weight * value;
              length += weight * std::abs(value);
              lost += std::abs(value) * lost_weight;
            }
            const auto at = static_cast<std::size_t>((b * c.queries + i) * stride_out + h * wide_v + d);
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
