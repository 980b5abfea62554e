// The proof of the kernels of attention's gradients in tiles, and of that of what rounding took of the
// logarithms of sums, against the formulas in float64 of operands that are rounded where the row says.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda/attention_gradient_sizes.hpp>
#include <cuda/check_proof.hpp>
#include <support/arrays.hpp>
#include <support/on_device.hpp>

#include <precast/cuda/attention/attention_gradient.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/attention_choice.hpp>
#include <precast/tensor/heads_view.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// Rows [batch, rows, heads * width] as float64, rounded to a dtype, value by value.
template <class Operand, class T>
struct Rows {
  const HostTensor<T>& tensor;
  std::int64_t heads;
  double at(std::int64_t b, std::int64_t row, std::int64_t head, std::int64_t d) const {
    const std::int64_t width = tensor.columns() / heads;
    const T value = tensor.data()[(b * tensor.shape()[1] + row) * tensor.columns() + head * width + d];
    return to_double(convert<Operand>(convert<f32>(value)));
  }
};

/// What a sum should be, the sum of the terms' sizes, and that of the sizes of all that terms are sums of.
struct Expected {
  double value = 0, size = 0, parts = 0;
  void add(double term, double term_size, double term_parts) {
    value += term;
    size += term_size;
    parts += term_parts;
  }
};

/// Whether gradients are those of the formulas. A weight or gradient of a score that lies near the middle of
/// two of the operand's values may go either way, and its score be kept as either of two neighbours: a term
/// may be apart by their distance, 2 units of the dtype, and by what that does to e^score.
template <class Types, class ForwardOperand, class T>
bool tiled_gradients_agree(const AttentionGradientSizes& s) {
  using Operand = typename Types::operand;
  using Inside = typename Types::inside;
  const auto q = random_tensor<T>(Shape{s.batch, s.queries, s.heads * s.width}, 1),
             k = random_tensor<T>(Shape{s.batch, s.keys, s.heads_kv * s.width}, 2),
             v = random_tensor<T>(Shape{s.batch, s.keys, s.heads_kv * s.width_v}, 3),
             dout = random_tensor<T>(Shape{s.batch, s.queries, s.heads * s.width_v}, 4, s.of_dout),
             out = random_tensor<T>(dout.shape(), 5);
  const AttentionProblem problem = s.problem();
  const Rows<ForwardOperand, T> left{q, s.heads}, right{k, s.heads_kv}, values{v, s.heads_kv};
  const Rows<Operand, T> from{dout, s.heads};
  const Rows<f32, T> exact_dout{dout, s.heads}, result{out, s.heads};
  const auto scale = static_cast<double>(s.scale);
  double largest_score = 0;
  const auto kept = [](double x) { return to_double(convert<Inside>(static_cast<f32>(x))); };
  const auto operand = [](double x) { return to_double(convert<Operand>(static_cast<f32>(x))); };
  // A coarse logarithm, whatever it is, is made good by its rest: the first head has some, the others none.
  constexpr f32 coarse = 1024;
  HostTensor<f32> log_sums(Shape{s.batch, s.heads, s.queries});
  std::vector<Expected> dq(q.values().size()), dk(k.values().size()), dv(v.values().size());
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t i = 0; i < s.queries; ++i) {
        const std::int64_t kv = h / (s.heads / s.heads_kv),
                           seen = s.causal ? std::min(s.keys, i + 1) : s.keys;
        std::vector<double> scores;
        double largest = -HUGE_VAL, sum = 0, delta = 0, parts_of_delta = 0;
        for (std::int64_t j = 0; j < seen; ++j) {
          double score = 0;
          for (std::int64_t d = 0; d < s.width; ++d) score += left.at(b, i, h, d) * right.at(b, j, kv, d);
          scores.push_back(kept(score * scale));
          largest = std::max(largest, scores.back());
          if (std::isfinite(scores.back())) largest_score = std::max(largest_score, std::abs(scores.back()));
        }
        for (const double score : scores) sum += std::exp(score - largest);
        const f32 log_sum = static_cast<f32>(largest + std::log(sum));
        log_sums.data()[(b * s.heads + h) * s.queries + i] = h == 0 && i % 2 == 0 ? coarse : log_sum;
        for (std::int64_t d = 0; d < s.width_v; ++d) {
          const double term = exact_dout.at(b, i, h, d) * result.at(b, i, h, d);
          delta += term;
          parts_of_delta += std::abs(term);
        }
        for (std::int64_t j = 0; j < seen; ++j) {
          double product = 0, parts = parts_of_delta;
          for (std::int64_t d = 0; d < s.width_v; ++d) {
            const double term = from.at(b, i, h, d) * values.at(b, j, kv, d);
            product += term;
            parts += std::abs(term);
          }
          const double weight =
              kept(std::exp(scores[static_cast<std::size_t>(j)] - static_cast<double>(log_sum)));
          const double gradient = operand(kept(weight * (kept(product) - delta)));
          const double of_gradient = weight * (std::abs(product) + std::abs(delta));
          const auto place = [](std::int64_t row, std::int64_t columns, std::int64_t d) {
            return static_cast<std::size_t>(row * columns + d);
          };
          const std::int64_t of_query = (b * s.queries + i) * s.heads + h,
                             of_key = (b * s.keys + j) * s.heads_kv + kv;
          for (std::int64_t d = 0; d < s.width; ++d) {
            const double key = right.at(b, j, kv, d) * scale, query = left.at(b, i, h, d) * scale;
            dq[place(of_query, s.width, d)].add(gradient * key, of_gradient * std::abs(key),
                                                weight * parts * std::abs(key));
            dk[place(of_key, s.width, d)].add(gradient * query, of_gradient * std::abs(query),
                                              weight * parts * std::abs(query));
          }
          for (std::int64_t d = 0; d < s.width_v; ++d) {
            const double term = operand(weight) * from.at(b, i, h, d);
            dv[place(of_key, s.width_v, d)].add(term, std::abs(term), std::abs(term));
          }
        }
      }
  // What no thread writes stays wrong.
  HostTensor<f32> device_q = filled<f32>(q.shape(), 1e30), device_k = filled<f32>(k.shape(), 1e30),
                  device_v = filled<f32>(v.shape(), 1e30);
  const auto heads = [](const auto& rows, std::int64_t count) { return split_heads(on_device(rows), count); };
  gpu::attention_gradient<Types, ForwardOperand, EveryAttention, T, T, T, T>(
      problem, heads(dout, s.heads), heads(q, s.heads), heads(k, s.heads_kv), heads(v, s.heads_kv),
      heads(out, s.heads), on_device(std::as_const(log_sums)), split_heads(on_device(device_q), s.heads),
      split_heads(on_device(device_k), s.heads_kv), split_heads(on_device(device_v), s.heads_kv), {});
  const auto agree = [&](const HostTensor<f32>& device, const std::vector<Expected>& expected) {
    const double most = 2 * (unit<Operand> + (2 + largest_score) * unit<Inside>);
    const auto additions = static_cast<double>(s.width + s.width_v + std::max(s.keys, s.queries));
    const double of_sums = (2 * coarse + additions * (1 + largest_score)) * unit<f32>;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const bool is_finite = std::isfinite(expected[i].value);
      if (std::isfinite(device.values()[i]) != is_finite) return false;
      if (!is_finite) continue;
      const double apart = std::abs(static_cast<double>(device.values()[i]) - expected[i].value);
      if (!(apart <= most * expected[i].size + of_sums * expected[i].parts)) return false;
    }
    return true;
  };
  return agree(device_q, dq) && agree(device_k, dk) && agree(device_v, dv);
}

/// Whether keys of equal scores have equal weights, though rounding has taken some of the logarithms of their
/// sums: products of 2^23 times `scale`, which are kept as `score`.
template <class Types, class T>
bool large_equal_scores_agree(f32 scale = 1, double score = 0x1p23) {
  const AttentionGradientSizes s{1, 1, 1, 5, 35, 8, 8, false, scale};
  const auto q = filled<T>(Shape{1, s.queries, s.width}, 1024),
             k = filled<T>(Shape{1, s.keys, s.width}, 1024), v = filled<T>(k.shape(), 2),
             dout = filled<T>(q.shape(), 1), out = filled<T>(q.shape(), 1);
  const auto sums = filled<f32>(Shape{1, 1, s.queries}, score + std::log(static_cast<double>(s.keys)));
  HostTensor<f32> dq(q.shape()), dk(k.shape()), dv(v.shape());
  const auto heads = [](const auto& rows) { return split_heads(on_device(rows), 1); };
  gpu::attention_gradient<Types, T, EveryAttention, T, T, T, T>(
      s.problem(), heads(dout), heads(q), heads(k), heads(v), heads(out), on_device(sums),
      split_heads(on_device(dq), 1), split_heads(on_device(dk), 1), split_heads(on_device(dv), 1), {});
  const double expected = static_cast<double>(s.queries) / static_cast<double>(s.keys);
  // Results are half of what weights give: each weight's gradient is 16 - 8.
  const auto all = [](const HostTensor<f32>& found, double value) {
    return outside(found, std::vector<double>(found.values().size(), value),
                   [&](std::size_t) {
                     return 4 * (unit<typename Types::operand> + unit<typename Types::inside> +
                                 16 * unit<f32>)*value;
                   })
        .empty();
  };
  const double of_scores = 8 * 1024 * static_cast<double>(scale);
  return all(dv, expected) && all(dk, expected * of_scores) && all(dq, of_scores);
}

// Tiles that end within one, causal or not, heads that share keys; rows that are copied, and rows that are
// rounded on their way; scores that e^x cannot hold; weights that are 0 where they are kept as f16, and not
// in the bf16 of operands, and gradients of weights and scores that are inf there.
bool tiles_on_tensor_cores_agree() {
  using Bf16 = OpDtypes<f32, bf16, f32, f32, f32>;
  using KeptF16 = OpDtypes<f32, bf16, f32, f16, f32>;
  return tiled_gradients_agree<Bf16, bf16, bf16>({1, 2, 1, 70, 66, 24, 16, true, 0.3f}) &&
         tiled_gradients_agree<Bf16, bf16, f32>({2, 1, 1, 33, 67, 5, 33, false, 4.0f}) &&
         tiled_gradients_agree<KeptF16, bf16, bf16>({1, 2, 1, 3, 35, 8, 8, false, 8.0f}) &&
         tiled_gradients_agree<KeptF16, bf16, bf16>({1, 1, 1, 9, 9, 8, 8, true, 0.3f, 1e5}) &&
         tiled_gradients_agree<KeptF16, bf16, bf16>({1, 1, 1, 9, 9, 8, 8, false, 3e4f}) &&
         large_equal_scores_agree<Bf16, bf16>() &&
         large_equal_scores_agree<KeptF16, bf16>(2049 * 0x1p-23f, 2048);
}

// The same by fused multiply-adds: they are as exact as their sums.
bool tiles_in_f32_agree() {
  using InF32 = OpDtypes<f32, f32, f32, f32, f32>;
  using KeptF16 = OpDtypes<f32, f32, f32, f16, f32>;
  return tiled_gradients_agree<InF32, f32, f32>({1, 2, 1, 70, 66, 24, 16, true, 0.3f}) &&
         tiled_gradients_agree<InF32, f32, bf16>({1, 1, 1, 9, 35, 5, 33, false, 20.0f}) &&
         tiled_gradients_agree<KeptF16, f32, f32>({1, 2, 1, 3, 35, 8, 8, false, 8.0f}) &&
         tiled_gradients_agree<KeptF16, f32, f32>({1, 1, 1, 9, 9, 8, 8, true, 0.3f, 1e5}) &&
         tiled_gradients_agree<KeptF16, f32, f32>({1, 1, 1, 9, 9, 8, 8, false, 3e4f}) &&
         large_equal_scores_agree<InF32, f32>() &&
         large_equal_scores_agree<KeptF16, f32>(2049 * 0x1p-23f, 2048);
}

}  // namespace

TEST_CASE("proof of gradients of attention on tensor cores", "[gradient][many_runs]") {
  check_proof("gradients of attention on tensor cores", tiles_on_tensor_cores_agree);
}

TEST_CASE("proof of gradients of attention in tiles of f32", "[gradient][many_runs]") {
  check_proof("gradients of attention in tiles of f32", tiles_in_f32_agree);
}

TEST_CASE("gradients of attention in tiles have every width, and operands in fp8", "[gradient]") {
  using Bf16 = OpDtypes<f32, bf16, f32, f32, f32>;
  using InF32 = OpDtypes<f32, f32, f32, f32, f32>;
  for (const std::int64_t width : {32, 40, 96, 128}) {
    CAPTURE(width);
    CHECK(tiled_gradients_agree<Bf16, bf16, bf16>({1, 2, 2, 33, 40, width, width, true, 0.1f}));
    CHECK(tiled_gradients_agree<InF32, f32, f32>({1, 2, 2, 33, 40, width, width, true, 0.1f}));
  }
  CHECK(tiled_gradients_agree<Bf16, fp8_e4m3, f32>({1, 2, 2, 33, 40, 16, 24, true, 0.1f}));
}
