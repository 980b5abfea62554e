// Attention in training: a forward pass that stores the logsumexp of each row of scores, and the gradients
// of queries, keys and values.
#pragma once

#include <string>
#include <type_traits>

#include <precast/backend.hpp>
#include <precast/backend/attention_gradient.hpp>
#include <precast/error.hpp>
#include <precast/ops/attention.hpp>
#include <precast/ops/run_gradient.hpp>
#include <precast/problem/attention_gradient_kernels.hpp>
#include <precast/problem/context.hpp>

namespace precast {

namespace detail {

inline namespace PRECAST_BACKEND {

/// Throws ShapeError unless log_sums is [B, H, Sq] and contiguous.
template <class T>
void require_log_sums(const char* op, const AttentionProblem& problem, const View<T>& log_sums) {
  require_same_shape(op, Shape{problem.batch, problem.heads, problem.queries}, log_sums.shape());
  if (!log_sums.contiguous())
    throw ShapeError(std::string(op) + ": the log_sums " + to_string(log_sums.shape()) +
                     " have gaps between their rows: give it an array of their own");
}

/// Does not compile (static_assert): a HeadsView where attention in training has rows.
template <class... Results>
void refuse_heads_of_results() {
  static_assert(!(is_heads_view<Results> || ...),
                "Precast: in training attention writes and reads its result as rows, a Tensor or View "
                "[B, S, H * D], and all gradients too: only queries, keys and values may be HeadsViews.");
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// attention_into that also writes the f32 logsumexp of each row of scores into `log_sums` [B, H, Sq],
/// which is contiguous: attention_gradient_into recomputes weights from it. It is -inf for a row that sees
/// no key. Neither result may overlap an input or the other. Takes attention's options after the policy,
/// and throws as attention does.
template <PolicyType P, AttentionOption... Chosen, AttentionArray Q, AttentionArray K, AttentionArray V>
void attention_with_log_sums_into(const Q& q, const K& k, const V& v, const AttentionOptions& options,
                                  ResultOf<P, Attention> out, PendingView<View<f32>> log_sums,
                                  const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto result = out.view();
  const auto sums = log_sums.view();
  using Choice = chosen_attention<Chosen...>;
  const auto call = detail::attention_call<Choice>(q, k, v, options);
  const AttentionProblem& problem = call.problem;
  detail::require_same_shape("attention", call.rows(), result.shape());
  detail::require_log_sums("attention", problem, sums);
  detail::require_heads_apart_from("attention", call, result);
  detail::require_heads_apart_from("attention", call, sums);
  detail::require_apart("attention", result, sums);
  using Forward = precisions<P, Attention>;
  detail::run_op_into<Attention, Forward>(
      "attention", result,
      [&]<class Types>(Types, auto to) {
        // The watch hook runs it once more in f32, for the result alone.
        if constexpr (std::is_same_v<Types, Forward>)
          backend::attention_with_log_sums<Types, P::flash, Choice>(problem, call.q, call.k, call.v,
                                                                    split_heads(to, problem.heads), sums);
        else
          call.template run<P, Types>(split_heads(to, problem.heads));
      },
      [&] {
        if constexpr (watch::compiled)
          return static_cast<double>(backend::largest_score(problem, call.q, call.k));
        else
          return 0.0;
      });
}

/// Does not compile (static_assert): a result that is a HeadsView.
template <PolicyType P, AttentionOption... Chosen, AttentionArray Q, AttentionArray K, AttentionArray V,
          class T, class Space>
void attention_with_log_sums_into(const Q&, const K&, const V&, const AttentionOptions&,
                                  const HeadsViewIn<T, Space>&, const PendingView<View<f32>>&,
                                  const Context& = current_context()) {
  detail::refuse_heads_of_results<HeadsViewIn<T, Space>>();
}

/// The gradients of attention's operands from dout [B, Sq, H * Dv], the gradient of its result, and the
/// inputs and results of attention_with_log_sums_into: dq [B, Sq, H * D], dk [B, Sk, Hkv * D] and dv
/// [B, Sk, Hkv * Dv], which may be slices of columns and must not overlap inputs. Weights are recomputed
/// tile by tile (Dao 2023): no array has the size of the scores. Under plain attention (no Flash) scores,
/// weights and their gradients are rounded to the row's `inside`. A bias gets no gradient. Takes
/// attention's options after the policy. Throws ShapeError where shapes do not fit.
template <PolicyType P, AttentionOption... Chosen, ScalarArray DO, AttentionArray Q, AttentionArray K,
          AttentionArray V, ScalarArray O>
void attention_gradient_into(const DO& dout, const Q& q, const K& k, const V& v, const O& out,
                             PendingView<View<const f32>> log_sums, const AttentionOptions& options,
                             GradientOf<P> dq, GradientOf<P> dk, GradientOf<P> dv,
                             const Context& context = current_context()) {
  const ContextScope scope(context);
  const auto q_gradient = dq.view(), k_gradient = dk.view(), v_gradient = dv.view();
  const auto sums = log_sums.view();
  using Choice = chosen_attention<Chosen...>;
  const auto call = detail::attention_call<Choice>(q, k, v, options);
  const AttentionProblem& problem = call.problem;
  detail::require_same_shape("attention_gradient", call.rows(), dout.shape());
  detail::require_same_shape("attention_gradient", call.rows(), out.shape());
  detail::require_log_sums("attention_gradient", problem, sums);
  detail::require_same_shape("attention_gradient",
                             Shape{problem.batch, problem.queries, problem.heads * problem.width},
                             q_gradient.shape());
  detail::require_same_shape("attention_gradient",
                             Shape{problem.batch, problem.keys, problem.heads_kv * problem.width},
                             k_gradient.shape());
  detail::require_same_shape("attention_gradient",
                             Shape{problem.batch, problem.keys, problem.heads_kv * problem.width_v},
                             v_gradient.shape());
  const auto require_apart = [&](auto gradient) {
    detail::require_heads_apart_from("attention_gradient", call, gradient);
    detail::require_apart("attention_gradient", gradient, as_view(dout), as_view(out), sums);
  };
  require_apart(q_gradient);
  require_apart(k_gradient);
  require_apart(v_gradient);
  const auto heads = split_heads(as_view(dout), problem.heads);
  const auto result = split_heads(as_view(out), problem.heads);
  using Forward = typename precisions<P, Attention>::operand;
  detail::run_gradients_into<Attention, gradient_precisions<P, Attention>>(
      "attention_gradient",
      [&]<class Types>(Types, auto to_q, auto to_k, auto to_v) {
        backend::attention_gradient<Types, Forward, Choice>(
            problem, heads, call.q, call.k, call.v, result, sums, split_heads(to_q, problem.heads),
            split_heads(to_k, problem.heads_kv), split_heads(to_v, problem.heads_kv));
      },
      q_gradient, k_gradient, v_gradient);
}
/// Does not compile (static_assert): a result, or a gradient, that is a HeadsView.
template <PolicyType P, AttentionOption... Chosen, AttentionArray DO, AttentionArray Q, AttentionArray K,
          AttentionArray V, AttentionArray O, class DQ, class DK, class DV>
  requires(detail::is_heads_view<DO> || detail::is_heads_view<O> || detail::is_heads_view<DQ> ||
           detail::is_heads_view<DK> || detail::is_heads_view<DV>)
void attention_gradient_into(const DO&, const Q&, const K&, const V&, const O&,
                             const PendingView<View<const f32>>&, const AttentionOptions&, const DQ&,
                             const DK&, const DV&, const Context& = current_context()) {
  detail::refuse_heads_of_results<DO, O, DQ, DK, DV>();
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
