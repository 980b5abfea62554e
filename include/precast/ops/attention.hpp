// Scaled dot-product attention: plain, or flash where the policy says so.
#pragma once

#include <precast/backend.hpp>
#include <precast/ops/attention_call.hpp>
#include <precast/ops/heads_apart.hpp>
#include <precast/problem/context.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// softmax(scale q k^T + bias) v for each head (Vaswani et al. 2017). Each operand is a Tensor or View
/// [B, S, H * D], or a HeadsView, whose heads have any strides (rows_of_heads, heads_of_rows): q
/// [B, Sq, H, D], k [B, Sk, Hkv, D], v [B, Sk, Hkv, Dv] -> out [B, Sq, H, Dv], which may be a slice of
/// columns and must not overlap an operand. H is a multiple of Hkv: H / Hkv neighbouring heads of queries
/// attend to one head of keys (grouped-query attention; multi-query with Hkv = 1). Throws ShapeError where
/// shapes do not fit.
///
/// Options after the policy say what a program needs, so that kernels for nothing else are compiled:
/// HeadWidths<64, 128>, else heads of any width; WithoutBias, else with or without. A call that they leave
/// out throws ShapeError or Error; on the host they have no other effect.
///
/// Without Flash, scores and weights are stored in the op table's `inside` dtype: an f16 score beyond 65504
/// is inf, and its row NaN. With Flash (Dao et al. 2022) scores are f32 and stay in the cache. A row whose
/// keys are all masked by a bias of -inf, or that sees no key, gives zeros. A masked key's weight is 0, so
/// an infinity or NaN of its values makes the row NaN, except in a tile that is skipped because no key of
/// it is seen. On CPUs with AVX-512 BF16, bf16 operands that are subnormal count as zero.
template <PolicyType P, AttentionOption... Chosen, AttentionArray Q, AttentionArray K, AttentionArray V>
void attention_into(const Q& q, const K& k, const V& v, const AttentionOptions& options,
                    ResultOf<P, Attention> out, const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  const auto call = detail::attention_call<chosen_attention<Chosen...>>(q, k, v, options);
  if (result.shape() != call.rows())
    detail::shapes_do_not_fit("attention", call.rows(), result.shape(),
                              "are the shapes of the result and of the output given for it");
  detail::require_heads_apart_from("attention", call, result);
  call.template into<P>(result);
}
/// The same into a HeadsView, whose heads have any strides that do not overlap.
template <PolicyType P, AttentionOption... Chosen, AttentionArray Q, AttentionArray K, AttentionArray V>
void attention_into(const Q& q, const K& k, const V& v, const AttentionOptions& options,
                    HeadsView<typename precisions<P, Attention>::result> out,
                    const Context& context = current_context()) {
  const ContextScope scope(context);
  using Types = precisions<P, Attention>;
  const auto call = detail::attention_call<chosen_attention<Chosen...>>(q, k, v, options);
  const Shape result{call.problem.batch, call.problem.queries, call.problem.heads, call.problem.width_v};
  if (out.shape() != result)
    detail::shapes_do_not_fit("attention", result, out.shape(),
                              "are the shapes of the result and of the output given for it");
  detail::require_heads_apart(out);
  detail::require_heads_apart_from("attention", call, out);
  if (const auto rows = out.joined()) return call.template into<P>(*rows);
  call.template run<P, Types>(out);
  if (watch::active()) [[unlikely]] {  // the hook reads rows: run again into [B, Sq, H * Dv]
    Tensor<typename Types::result> seen(call.rows());
    call.template into<P>(seen.view());
  }
}

/// The same into a new tensor [B, Sq, H * Dv].
template <PolicyType P, AttentionOption... Chosen, AttentionArray Q, AttentionArray K, AttentionArray V>
auto attention(const Q& q, const K& k, const V& v, const AttentionOptions& options,
               const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto call = detail::attention_call<chosen_attention<Chosen...>>(q, k, v, options);
  Tensor<typename precisions<P, Attention>::result> out(call.rows());
  call.template into<P>(out.view());
  return out;
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
