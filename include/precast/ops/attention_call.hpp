// A call of attention: checks its operands against each other and against the options chosen at compile
// time, and runs the kernel of the policy.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include <precast/backend.hpp>
#include <precast/backend/attention.hpp>
#include <precast/ops/attention_operand.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/problem/attention_choice.hpp>
#include <precast/tensor/owned_tensor.hpp>

#if PRECAST_HAS_WATCH
#include <precast/backend/largest_score.hpp>
#endif

namespace precast {

inline namespace PRECAST_BACKEND {

struct AttentionOptions {
  std::int64_t heads = 0;                  ///< required for [B, S, H * D]; a HeadsView has its own
  std::optional<std::int64_t> heads_kv{};  ///< of keys and values [B, S, Hkv * D]; else as many as `heads`
  std::optional<f32> scale{};              ///< what scores are multiplied by; else 1 / sqrt(D)
  bool causal = false;                     ///< query i sees keys 0 to i only
  /// [H, Sq, Sk], a Tensor or a View: added to the scaled scores; may hold -inf.
  std::optional<PendingView<View<const f32>>> bias{};
};

}  // namespace PRECAST_BACKEND

namespace detail {

inline namespace PRECAST_BACKEND {

/// A call of attention whose operands have been checked against each other and against Choice.
template <class Choice, class Q, class K, class V>
struct AttentionCall {
  HeadsView<const Q> q;
  HeadsView<const K> k;
  HeadsView<const V> v;
  AttentionProblem problem;

  /// [B, Sq, H * Dv].
  Shape rows() const { return {problem.batch, problem.queries, problem.heads * problem.width_v}; }

  /// Runs the kernel of the policy: flash or plain attention.
  template <PolicyType P, class Types>
  void run(HeadsView<typename Types::result> out) const {
    if (out.elements() == 0) return;
    if constexpr (P::flash)
      backend::flash_attention<Types, Choice>(problem, q, k, v, out);
    else
      backend::plain_attention<Types, Choice>(problem, q, k, v, out);
  }
  /// The same into rows [B, Sq, H * Dv], and reports them to the watch hook.
  template <PolicyType P>
  void into(View<typename precisions<P, Attention>::result> out) const {
    run_op_into<Attention, precisions<P, Attention>>(
        "attention", out,
        [&](auto types, auto to) { this->template run<P, decltype(types)>(split_heads(to, problem.heads)); },
        [&] {
          if constexpr (watch::compiled)
            return static_cast<double>(backend::largest_score(problem, q, k));
          else
            return 0.0;
        });
  }
};

/// Checks operands. Throws ShapeError where they do not fit each other or Choice leaves out their head
/// width, and Error where it leaves out the bias that is given.
template <class Choice, AttentionArray QueryArray, AttentionArray KeyArray, AttentionArray ValueArray>
auto attention_call(const QueryArray& queries, const KeyArray& keys, const ValueArray& values,
                    const AttentionOptions& options) {
  const auto heads_kv = [&]<class A>(const A&) {
    return options.heads_kv.value_or(is_heads_view<A> ? 0 : options.heads);
  };
  const auto [q, q_shape] = attention_operand(queries, options.heads);
  const auto [k, k_shape] = attention_operand(keys, heads_kv(keys));
  const auto [v, v_shape] = attention_operand(values, heads_kv(values));
  if (q.batch() != k.batch() || q.width() != k.width()) {
    const bool fewer_heads = ScalarArray<QueryArray> && ScalarArray<KeyArray> && q.batch() == k.batch() &&
                             q.heads() == k.heads() && q.width() > k.width();
    shapes_do_not_fit("attention", q_shape, k_shape,
                      fewer_heads
                          ? "are not queries and keys of one batch and width: where keys have fewer heads, "
                            "name heads_kv in the options"
                          : "are not queries and keys of one batch and width");
  }
  if (k.batch() != v.batch() || k.rows() != v.rows() || k.heads() != v.heads())
    shapes_do_not_fit("attention", k_shape, v_shape,
                      "are not keys and values of one batch, one length and as many heads");
  if (q.heads() < 1 || k.heads() < 1 || q.heads() % k.heads() != 0)
    throw ShapeError("attention: " + std::to_string(q.heads()) + " heads of queries are not a multiple of " +
                     std::to_string(k.heads()) + " of keys");
  const Shape scores{q.heads(), q.rows(), k.rows()};
  if (options.bias && options.bias->shape() != scores)
    shapes_do_not_fit("attention", scores, options.bias->shape(),
                      "are the bias that the heads need and the one given");
  require_chosen(Choice{}, q.width() == 0 ? 0 : max_of(q.width(), v.width()), options.bias.has_value());
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
                                 .bias = options.bias ? options.bias->view() : View<const f32>()};
  return AttentionCall<Choice, typename QueryArray::value_type, typename KeyArray::value_type,
                       typename ValueArray::value_type>{q, k, v, problem};
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

}  // namespace precast
