// Scaled dot-product attention: plain, or flash where the policy says so.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include <precast/backend.hpp>
#include <precast/backend/attention.hpp>
#include <precast/backend/context.hpp>
#include <precast/ops/attention_operand.hpp>
#include <precast/ops/run_op.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

struct AttentionOptions {
  std::int64_t heads = 1;                  ///< of operands [B, S, H * D]; a HeadsView has its own
  std::optional<std::int64_t> heads_kv{};  ///< of keys and values [B, S, Hkv * D]; else as many as `heads`
  std::optional<f32> scale{};              ///< what scores are multiplied by; else 1 / sqrt(D)
  bool causal = false;                     ///< query i sees keys 0 to i only
  std::optional<View<const f32>> bias{};   ///< [H, Sq, Sk], added to the scaled scores; may hold -inf
};

}  // namespace PRECAST_BACKEND

namespace detail {

inline namespace PRECAST_BACKEND {

/// An attention whose operands fit each other.
template <class Q, class K, class V>
struct AttentionCall {
  HeadsView<const Q> q;
  HeadsView<const K> k;
  HeadsView<const V> v;
  AttentionProblem problem;

  /// [B, Sq, H * Dv].
  Shape rows() const { return {problem.batch, problem.queries, problem.heads * problem.width_v}; }

  /// The kernel that the policy takes.
  template <PolicyType P, class Types>
  void run(HeadsView<typename Types::result> out) const {
    if (out.elements() == 0) return;
    if constexpr (P::flash)
      backend::flash_attention<Types>(problem, q, k, v, out);
    else
      backend::plain_attention<Types>(problem, q, k, v, out);
  }
  /// The same into rows [B, Sq, H * Dv], with a word to the watch hook.
  template <PolicyType P>
  void into(View<typename precisions<P, Attention>::result> out) const {
    run_op_into<Attention, precisions<P, Attention>>(
        "attention", out,
        [&](auto types, auto to) { this->template run<P, decltype(types)>(split_heads(to, problem.heads)); },
        [&] { return static_cast<double>(backend::largest_score(problem, q, k)); });
  }
};

/// Throws ShapeError, in one line, where operands do not fit each other.
template <AttentionArray QueryArray, AttentionArray KeyArray, AttentionArray ValueArray>
auto attention_call(const QueryArray& queries, const KeyArray& keys, const ValueArray& values,
                    const AttentionOptions& options) {
  const std::int64_t given_kv = options.heads_kv.value_or(options.heads);
  const auto [q, q_shape] = attention_operand(queries, options.heads);
  const auto [k, k_shape] = attention_operand(keys, given_kv);
  const auto [v, v_shape] = attention_operand(values, given_kv);
  if (q.batch() != k.batch() || q.width() != k.width())
    shapes_do_not_fit("attention", q_shape, k_shape, "are not queries and keys of one batch and width");
  if (k.batch() != v.batch() || k.rows() != v.rows() || k.heads() != v.heads())
    shapes_do_not_fit("attention", k_shape, v_shape,
                      "are not keys and values of one batch, one length and as many heads");
  if (q.heads() < 1 || k.heads() < 1 || q.heads() % k.heads() != 0)
    throw ShapeError("attention: " + std::to_string(q.heads()) + " heads of queries are no multiple of " +
                     std::to_string(k.heads()) + " of keys");
  const Shape scores{q.heads(), q.rows(), k.rows()};
  if (options.bias && options.bias->shape() != scores)
    shapes_do_not_fit("attention", scores, options.bias->shape(),
                      "are the bias that the heads need and the one given");
  const f32 usual = q.width() == 0 ? 0.0f : static_cast<f32>(1.0 / std::sqrt(static_cast<double>(q.width())));
  const AttentionProblem problem{.batch = q.batch(),
                                 .heads = q.heads(),
                                 .heads_kv = k.heads(),
                                 .queries = q.rows(),
                                 .keys = k.rows(),
                                 .width = q.width(),
                                 .width_v = v.width(),
                                 .scale = options.scale.value_or(usual),
                                 .causal = options.causal,
                                 .bias = options.bias.value_or(View<const f32>())};
  return AttentionCall<typename QueryArray::value_type, typename KeyArray::value_type,
                       typename ValueArray::value_type>{q, k, v, problem};
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// softmax(scale q k^T + bias) v for each head (Vaswani et al. 2017). Each operand is a Tensor or View [B, S,
/// H * D], or a HeadsView, whose heads lie by any strides (rows_of_heads, heads_of_rows): q [B, Sq, H, D], k
/// [B, Sk, Hkv, D], v [B, Sk, Hkv, Dv] -> out [B, Sq, H, Dv], which may be a slice of columns and overlaps
/// none of them. H is a multiple of Hkv: that many neighbouring heads of queries attend to one head of keys
/// (grouped-query attention; multi-query with Hkv = 1). Throws ShapeError where shapes do not fit.
///
/// Without Flash, scores and weights are stored in the op table's `inside` dtype: an f16 score beyond 65504
/// is inf, and its row NaN. With Flash (Dao et al. 2022) scores are f32 and stay in the cache. A row whose
/// keys are all hidden by a bias of -inf, or that has none, gives zeros. On CPUs with AVX-512 BF16, bf16
/// operands that are subnormal count as zero.
template <PolicyType P, AttentionArray Q, AttentionArray K, AttentionArray V>
void attention_into(const Q& q, const K& k, const V& v, const AttentionOptions& options,
                    View<typename precisions<P, Attention>::result> out) {
  const auto call = detail::attention_call(q, k, v, options);
  if (out.shape() != call.rows())
    detail::shapes_do_not_fit("attention", call.rows(), out.shape(),
                              "are the result and what is given for it");
  call.template into<P>(out);
}
/// The same into heads by strides.
template <PolicyType P, AttentionArray Q, AttentionArray K, AttentionArray V>
void attention_into(const Q& q, const K& k, const V& v, const AttentionOptions& options,
                    HeadsView<typename precisions<P, Attention>::result> out) {
  using Types = precisions<P, Attention>;
  const auto call = detail::attention_call(q, k, v, options);
  const Shape result{call.problem.batch, call.problem.queries, call.problem.heads, call.problem.width_v};
  if (out.shape() != result)
    detail::shapes_do_not_fit("attention", result, out.shape(), "are the result and what is given for it");
  if (const auto rows = out.joined()) return call.template into<P>(*rows);
  call.template run<P, Types>(out);
  if (watch::active()) [[unlikely]] {  // it reads rows: the same once more, with its heads side by side
    Tensor<typename Types::result> seen(call.rows());
    call.template into<P>(seen.view());
  }
}

/// The same into a new tensor [B, Sq, H * Dv].
template <PolicyType P, AttentionArray Q, AttentionArray K, AttentionArray V>
auto attention(const Q& q, const K& k, const V& v, const AttentionOptions& options) {
  const auto call = detail::attention_call(q, k, v, options);
  Tensor<typename precisions<P, Attention>::result> out(call.rows());
  call.template into<P>(out.view());
  return out;
}

/// All in a context.
template <PolicyType P, AttentionArray Q, AttentionArray K, AttentionArray V>
void attention_into(const Context& context, const Q& q, const K& k, const V& v,
                    const AttentionOptions& options, View<typename precisions<P, Attention>::result> out) {
  with_context(context, [&] { attention_into<P>(q, k, v, options, out); });
}
template <PolicyType P, AttentionArray Q, AttentionArray K, AttentionArray V>
void attention_into(const Context& context, const Q& q, const K& k, const V& v,
                    const AttentionOptions& options,
                    HeadsView<typename precisions<P, Attention>::result> out) {
  with_context(context, [&] { attention_into<P>(q, k, v, options, out); });
}
template <PolicyType P, AttentionArray Q, AttentionArray K, AttentionArray V>
auto attention(const Context& context, const Q& q, const K& k, const V& v, const AttentionOptions& options) {
  return with_context(context, [&] { return attention<P>(q, k, v, options); });
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
