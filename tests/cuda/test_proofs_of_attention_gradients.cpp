// The proof of the kernels of attention's gradients that take a row of scores at a time, against the formulas
// once more, value by value.
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
#include <precast/problem/math.hpp>
#include <precast/tensor/heads_view.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

// The logarithms of sums from float64 for both, so that narrow rows have the same bits.
template <class Types>
bool attention_gradients_agree(const AttentionGradientSizes& s) {
  using Operand = typename Types::operand;
  const auto q = random_tensor<f32>(Shape{s.batch, s.queries, s.heads * s.width}, 1),
             k = random_tensor<f32>(Shape{s.batch, s.keys, s.heads_kv * s.width}, 2),
             v = random_tensor<f32>(Shape{s.batch, s.keys, s.heads_kv * s.width_v}, 3),
             dout = random_tensor<f32>(Shape{s.batch, s.queries, s.heads * s.width_v}, 4, s.of_dout),
             out = random_tensor<f32>(dout.shape(), 5);
  const AttentionProblem problem = s.problem();
  HostTensor<f32> log_sums(Shape{s.batch, s.heads, s.queries});
  const auto heads = [](const HostTensor<f32>& rows, std::int64_t count) {
    return split_heads(rows.view(), count);
  };
  const auto there = [](const HostTensor<f32>& rows, std::int64_t count) {
    return split_heads(on_device(rows), count);
  };
  // In float64, of operands and scores rounded as the row says.
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t i = 0; i < s.queries; ++i) {
        const std::int64_t seen = s.causal ? std::min(s.keys, i + 1) : s.keys;
        double sum = 0, largest = -HUGE_VAL;
        std::vector<double> scores;
        for (std::int64_t j = 0; j < seen; ++j) {
          const auto left = heads(q, s.heads).row(b, h, i);
          const auto right = heads(k, s.heads_kv).row(b, h / (s.heads / s.heads_kv), j);
          f32 score = 0;
          for (std::size_t d = 0; d < left.size(); ++d)
            score = rounded_to<typename Types::accumulate>(
                std::fma(rounded_to<Operand>(left[d]), rounded_to<Operand>(right[d]), score));
          scores.push_back(rounded_to<typename Types::inside>(score * s.scale));
          largest = std::max(largest, scores.back());
        }
        for (const double score : scores) sum += std::exp(score - largest);
        log_sums.data()[(b * s.heads + h) * s.queries + i] = static_cast<f32>(largest + std::log(sum));
      }
  // A coarse one is another's, which the rest makes good to the bit where a row sees one key.
  HostTensor<f32> given_sums = log_sums.clone();
  if (s.causal)
    for (std::int64_t first = 0; first < given_sums.elements(); first += s.queries)
      given_sums.data()[first] = 1024;
  HostTensor<f32> dq(q.shape()), dk(k.shape()), dv(v.shape());
  gpu::attention_gradient<Types, Operand, EveryAttention, f32, f32, f32, f32>(
      problem, there(dout, s.heads), there(q, s.heads), there(k, s.heads_kv), there(v, s.heads_kv),
      there(out, s.heads), on_device(std::as_const(given_sums)), split_heads(on_device(dq), s.heads),
      split_heads(on_device(dk), s.heads_kv), split_heads(on_device(dv), s.heads_kv), {});
  // The formulas once more, value by value in the order of the sums.
  const auto kept = [](f32 x) { return rounded_to<typename Types::inside>(x); };
  const auto add = [](f32 a, f32 b, f32 sum) {
    return rounded_to<typename Types::accumulate>(std::fma(a, b, sum));
  };
  const auto given = [](f32 x) { return rounded_to<Operand>(x); };
  std::vector<f32> sum_q(q.values().size()), sum_k(k.values().size()), sum_v(v.values().size());
  const auto place = [](std::int64_t b, std::int64_t rows, std::int64_t row, std::int64_t count,
                        std::int64_t head, std::int64_t width) {
    return static_cast<std::size_t>(((b * rows + row) * count + head) * width);
  };
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t h = 0; h < s.heads; ++h)
      for (std::int64_t i = 0; i < s.queries; ++i) {
        const std::size_t at_q = place(b, s.queries, i, s.heads, h, s.width),
                          at_o = place(b, s.queries, i, s.heads, h, s.width_v);
        f32 delta = 0;
        for (std::int64_t d = 0; d < s.width_v; ++d)
          delta += dout.values()[at_o + static_cast<std::size_t>(d)] *
                   out.values()[at_o + static_cast<std::size_t>(d)];
        for (std::int64_t j = 0; j < (s.causal ? std::min(s.keys, i + 1) : s.keys); ++j) {
          const std::int64_t kv = h / (s.heads / s.heads_kv);
          const std::size_t at_k = place(b, s.keys, j, s.heads_kv, kv, s.width),
                            at_v = place(b, s.keys, j, s.heads_kv, kv, s.width_v);
          f32 score = 0, product = 0;
          for (std::size_t d = 0; d < static_cast<std::size_t>(s.width); ++d)
            score = add(given(q.values()[at_q + d]), given(k.values()[at_k + d]), score);
          for (std::size_t d = 0; d < static_cast<std::size_t>(s.width_v); ++d)
            product = add(given(dout.values()[at_o + d]), given(v.values()[at_v + d]), product);
          const f32 log_sum = log_sums.data()[(b * s.heads + h) * s.queries + i];
          const f32 weight = kept(math::exp_of_negative(kept(score * s.scale) - log_sum));
          const f32 gradient = given(kept(weight * (kept(product) - delta)));
          for (std::size_t d = 0; d < static_cast<std::size_t>(s.width); ++d) {
            sum_q[at_q + d] = add(gradient, given(k.values()[at_k + d]), sum_q[at_q + d]);
            sum_k[at_k + d] = add(gradient, given(q.values()[at_q + d]), sum_k[at_k + d]);
          }
          for (std::size_t d = 0; d < static_cast<std::size_t>(s.width_v); ++d)
            sum_v[at_v + d] = add(given(weight), given(dout.values()[at_o + d]), sum_v[at_v + d]);
        }
      }
  for (std::size_t i = 0; i < sum_q.size(); ++i)
    if (dq.values()[i] != sum_q[i] * s.scale) return false;
  for (std::size_t i = 0; i < sum_k.size(); ++i)
    if (dk.values()[i] != sum_k[i] * s.scale) return false;
  for (std::size_t i = 0; i < sum_v.size(); ++i)
    if (dv.values()[i] != sum_v[i]) return false;
  return true;
}
// Two rounds of queries and of keys; heads that share keys, and scores that exp cannot hold; other rows whose
// sums are no f32, which tiles would take.
bool attentions_agree() {
  using Bf16Sums = OpDtypes<f32, f32, bf16, f32, f32>;
  return attention_gradients_agree<Bf16Sums>({1, 1, 1, 130, 131, 1, 2, false, 0.5f}) &&
         attention_gradients_agree<Bf16Sums>({2, 4, 2, 7, 9, 3, 2, true, 100.0f}) &&
         attention_gradients_agree<OpDtypes<f32, f16, f16, f32, f32>>({1, 2, 1, 9, 9, 5, 2, false, 0.5f}) &&
         attention_gradients_agree<OpDtypes<f32, f32, bf16, f16, f32>>({1, 2, 1, 9, 9, 5, 2, true, 30.3f});
}

}  // namespace

TEST_CASE("proof of gradients of attention", "[gradient]") {
  check_proof("gradients of attention", attentions_agree);
}
