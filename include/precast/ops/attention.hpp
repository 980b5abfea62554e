// Scaled dot-product attention: plain, or flash where the policy says so.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>

#include <precast/backend/attention.hpp>
#include <precast/backend/backend.hpp>
#include <precast/backend/context.hpp>
#include <precast/ops/run_op.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

struct AttentionOptions {
  std::int64_t heads = 1;
  f32 scale = 0;           ///< what scores are multiplied by; 0 stands for 1 / sqrt(values of a head)
  bool causal = false;     ///< query i sees keys 0 to i only
  View<const f32> bias{};  ///< [heads, Sq, Sk], added to the scaled scores; may hold -inf. Without data: none
};

/// softmax(scale q k^T + bias) v for each head (Vaswani et al. 2017). q [B, Sq, H * D], k and v [B, Sk, H *
/// D] -> out [B, Sq, H * D], which may be a slice of columns and overlaps none of them. Throws ShapeError
/// where shapes do not fit.
///
/// Without Flash, scores and weights are stored in the op table's `inside` dtype: an f16 score beyond 65504
/// is inf, and its row NaN. With Flash (Dao et al. 2022) scores are f32 and stay in the cache. A row whose
/// keys are all hidden by a bias of -inf, or that has none, gives zeros. On CPUs with AVX-512 BF16, bf16
/// operands that are subnormal count as zero.
template <PolicyType P, ScalarArray Q, ScalarArray K, ScalarArray V>
void attention_into(const Q& q, const K& k, const V& v, const AttentionOptions& options,
                    View<typename precisions<P, Attention>::result> out) {
  const Shape &sq = q.shape(), &sk = k.shape();
  if (sq.rank() != 3 || sk.rank() != 3 || sq[0] != sk[0] || sq[2] != sk[2])
    detail::shapes_do_not_fit("attention", sq, sk, "are not [B, Sq, H * D] and [B, Sk, H * D]");
  if (v.shape() != sk)
    detail::shapes_do_not_fit("attention", sk, v.shape(), "are not one shape for keys and values");
  if (out.shape() != sq)
    detail::shapes_do_not_fit("attention", sq, out.shape(), "are not one shape for queries and result");
  if (options.heads < 1 || sq[2] % options.heads != 0)
    throw ShapeError("attention: " + std::to_string(options.heads) + " heads do not divide " + to_string(sq));
  const bool biased = options.bias.data() != nullptr;
  if (biased && options.bias.shape() != Shape{options.heads, sq[1], sk[1]})
    detail::shapes_do_not_fit("attention", Shape{options.heads, sq[1], sk[1]}, options.bias.shape(),
                              "are the bias that the heads need and the one given");
  const std::int64_t width = sq[2] / options.heads;
  const f32 scale = options.scale != 0 || width == 0
                        ? options.scale
                        : static_cast<f32>(1.0 / std::sqrt(static_cast<double>(width)));
  const AttentionProblem problem{sq[0], options.heads, sq[1],          sk[1],
                                 width, scale,         options.causal, options.bias};
  detail::run_op_into<Attention, precisions<P, Attention>>(
      "attention", out,
      [&](auto types, auto to) {
        using Types = decltype(types);
        if (to.elements() == 0) return;
        if constexpr (P::flash)
          backend::flash_attention<Types>(problem, as_view(q), as_view(k), as_view(v), to);
        else
          backend::plain_attention<Types>(problem, as_view(q), as_view(k), as_view(v), to);
      },
      [&] { return static_cast<double>(backend::largest_score(problem, as_view(q), as_view(k))); });
}

/// The same into a new tensor.
template <PolicyType P, ScalarArray Q, ScalarArray K, ScalarArray V>
auto attention(const Q& q, const K& k, const V& v, const AttentionOptions& options) {
  Tensor<typename precisions<P, Attention>::result> out(q.shape());
  attention_into<P>(q, k, v, options, out.view());
  return out;
}

/// Both in a context.
template <PolicyType P, ScalarArray Q, ScalarArray K, ScalarArray V>
void attention_into(const Context& context, const Q& q, const K& k, const V& v,
                    const AttentionOptions& options, View<typename precisions<P, Attention>::result> out) {
  with_context(context, [&] { attention_into<P>(q, k, v, options, out); });
}
template <PolicyType P, ScalarArray Q, ScalarArray K, ScalarArray V>
auto attention(const Context& context, const Q& q, const K& k, const V& v, const AttentionOptions& options) {
  return with_context(context, [&] { return attention<P>(q, k, v, options); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
