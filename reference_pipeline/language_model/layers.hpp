// The layers of language models: each computes its result and records its backward pass on a tape.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <language_model/trained_parameter.hpp>

#include <precast/backend.hpp>
#include <precast/ops/attention_gradient.hpp>
#include <precast/ops/embedding.hpp>
#include <precast/ops/embedding_gradient.hpp>
#include <precast/ops/norm.hpp>
#include <precast/ops/norm_gradient.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/pointwise_gradient.hpp>
#include <precast/ops/rotary.hpp>
#include <precast/ops/rotary_gradient.hpp>
#include <precast/ops/training_linear.hpp>
#include <precast/train/optimiser.hpp>
#include <precast/train/tape.hpp>

namespace precast::language_model {

inline namespace PRECAST_BACKEND {

/// An intermediate result under a policy; its gradient has the same dtype.
template <PolicyType P>
using Value = train::Variable<typename P::activation>;

/// The layers under a policy. Without a tape nothing is recorded. Parameters must outlive the tape.
template <PolicyType P>
class Layers {
 public:
  using Activation = typename P::activation;
  using Parameter = TrainedParameter<P>;
  static_assert(std::is_same_v<Activation, typename training<P>::gradient>);

  explicit Layers(train::Tape* tape) : tape_(tape) {}

  /// Embedding lookup: batch * length ids -> [batch, length, width]. Row `padding` gets no gradient.
  Value<P> embed(Parameter& table, std::vector<std::int32_t> ids, std::int64_t batch,
                 const std::optional<std::int64_t>& padding = {}) const {
    reads(table);
    const auto length = static_cast<std::int64_t>(ids.size()) / batch;
    const Value<P> y = train::variable(
        embedding<P>(table.weight(), ids).reshaped({batch, length, table.weight().columns()}));
    if (padding)
      std::replace(ids.begin(), ids.end(), static_cast<std::int32_t>(*padding), embedding_without_gradient);
    record([y, &table, ids = std::move(ids)] {
      embedding_gradient_into<P>(*y->gradient, ids, table.next_gradient(), table.gradient().view());
    });
    return y;
  }

  /// x [batch, length, width] + the first `length` rows of the positional embedding.
  Value<P> add_positions(const Value<P>& x, Parameter& table) const {
    reads(table);
    const std::int64_t length = x->value.shape()[1];
    const Value<P> y = train::variable(add<P>(x->value, table.weight().view().rows_between(0, length)));
    record([x, y, length, &table] {
      const GradientOptions options = table.next_gradient();
      if (!options.accumulate)
        train::clear<typename Parameter::Gradient>(
            table.gradient().view());  // rows after the last position get none
      broadcast_gradient_into<P>(*y->gradient, options, table.gradient().view().rows_between(0, length));
      train::add_gradient<P>(x, std::move(*y->gradient));
    });
    return y;
  }

  /// x W^T + b; `bias` may be null.
  Value<P> linear(const Value<P>& x, Parameter& weight, Parameter* bias = nullptr) const {
    reads(weight);
    if (bias) reads(*bias);
    Tensor<Activation> out(x->value.shape().with_back(weight.weight().shape()[0]));
    if (bias)
      linear_into<P>(x->value, weight.weight(), bias->weight(), out.view());
    else
      linear_into<P>(x->value, weight.weight(), out.view());
    const Value<P> y = train::variable(std::move(out));
    record([x, y, &weight, bias] {
      linear_weight_gradient_into<P>(*y->gradient, x->value, weight.next_gradient(),
                                     weight.gradient().view());
      if (bias) bias_gradient_into<P>(*y->gradient, bias->next_gradient(), bias->gradient().view());
      Tensor<Activation> dx(x->value.shape());
      linear_input_gradient_into<P>(*y->gradient, weight.weight(), dx.view());
      train::add_gradient<P>(x, std::move(dx));
    });
    return y;
  }

  Value<P> layer_norm(const Value<P>& x, Parameter& weight, Parameter& bias, double eps) const {
    reads(weight);
    reads(bias);
    const Value<P> y =
        train::variable(precast::layer_norm<P>(x->value, weight.weight(), bias.weight(), {.eps = eps}));
    record([x, y, &weight, &bias, eps] {
      Tensor<Activation> dx(x->value.shape());
      bias.next_gradient();
      const NormGradientOptions options{.eps = eps, .accumulate = weight.next_gradient().accumulate};
      layer_norm_gradient_into<P>(*y->gradient, x->value, weight.weight(), options, dx.view(),
                                  weight.gradient().view(), bias.gradient().view());
      train::add_gradient<P>(x, std::move(dx));
    });
    return y;
  }

  Value<P> rms_norm(const Value<P>& x, Parameter& weight, double eps) const {
    reads(weight);
    const Value<P> y = train::variable(precast::rms_norm<P>(x->value, weight.weight(), {.eps = eps}));
    record([x, y, &weight, eps] {
      Tensor<Activation> dx(x->value.shape());
      const NormGradientOptions options{.eps = eps, .accumulate = weight.next_gradient().accumulate};
      rms_norm_gradient_into<P>(*y->gradient, x->value, weight.weight(), options, dx.view(),
                                weight.gradient().view());
      train::add_gradient<P>(x, std::move(dx));
    });
    return y;
  }

  /// Applies a function of problem/elementwise.hpp to every value.
  template <class Function>
  Value<P> activate(const Value<P>& x) const {
    const Value<P> y = train::variable(precast::activate<P, Function>(x->value));
    record([x, y] {
      Tensor<Activation> dx(x->value.shape());
      activate_gradient_into<P, Function>(*y->gradient, x->value, dx.view());
      train::add_gradient<P>(x, std::move(dx));
    });
    return y;
  }

  /// silu(gate) * up.
  Value<P> swiglu(const Value<P>& gate, const Value<P>& up) const {
    using Function = elementwise::Silu;
    const Value<P> y = train::variable(gated_product<P, Function>(gate->value, up->value));
    record([gate, up, y] {
      Tensor<Activation> dgate(gate->value.shape()), dup(up->value.shape());
      gated_product_gradient_into<P, Function>(*y->gradient, gate->value, up->value, dgate.view(),
                                               dup.view());
      train::add_gradient<P>(gate, std::move(dgate));
      train::add_gradient<P>(up, std::move(dup));
    });
    return y;
  }

  Value<P> sum(const Value<P>& a, const Value<P>& b) const {
    const Value<P> y = train::variable(add<P>(a->value, b->value));
    record([a, b, y] {
      train::add_gradient<P>(a, y->gradient->clone());
      train::add_gradient<P>(b, std::move(*y->gradient));
    });
    return y;
  }

  /// Rotary position embedding of heads: x [batch, length, heads * D].
  Value<P> rotary(const Value<P>& x, const std::shared_ptr<const RotaryTableOfHalves>& table) const {
    const Value<P> y = train::variable(precast::rotary<P>(x->value, *table));
    record([x, y, table] {
      Tensor<Activation> dx(x->value.shape());
      rotary_gradient_into<P>(*y->gradient, *table, dx.view());
      train::add_gradient<P>(x, std::move(dx));
    });
    return y;
  }

  /// Causal attention of separate queries, keys and values.
  Value<P> attention(const Value<P>& q, const Value<P>& k, const Value<P>& v,
                     const AttentionOptions& options) const {
    auto [y, log_sums] = attend(q->value.view(), k->value.view(), v->value.view(), options);
    record([q, k, v, y = y, log_sums = log_sums, options] {
      Tensor<Activation> dq(q->value.shape()), dk(k->value.shape()), dv(v->value.shape());
      attention_gradient_into<P, WithoutBias>(*y->gradient, q->value, k->value, v->value, y->value,
                                              log_sums->view(), options, dq.view(), dk.view(), dv.view());
      train::add_gradient<P>(q, std::move(dq));
      train::add_gradient<P>(k, std::move(dk));
      train::add_gradient<P>(v, std::move(dv));
    });
    return y;
  }

  /// Causal attention of queries, keys and values concatenated: [batch, length, 3 width].
  Value<P> attention_of_one(const Value<P>& qkv, const AttentionOptions& options) const {
    const auto third = [](auto view, std::int64_t place) {
      const std::int64_t width = view.columns() / 3;
      return view.columns_between(place * width, width);
    };
    const View<const Activation> all = std::as_const(qkv->value).view();
    auto [y, log_sums] = attend(third(all, 0), third(all, 1), third(all, 2), options);
    record([qkv, y = y, log_sums = log_sums, options, third] {
      Tensor<Activation> gradient(qkv->value.shape());
      const View<const Activation> in = std::as_const(qkv->value).view();
      const View<Activation> out = gradient.view();
      attention_gradient_into<P, WithoutBias>(*y->gradient, third(in, 0), third(in, 1), third(in, 2),
                                              y->value, log_sums->view(), options, third(out, 0),
                                              third(out, 1), third(out, 2));
      train::add_gradient<P>(qkv, std::move(gradient));
    });
    return y;
  }

 private:
  template <class Step>
  void record(Step&& step) const {
    if (tape_) tape_->record(std::forward<Step>(step));
  }

  void reads(Parameter& parameter) const {
    if (tape_) parameter.read();
  }

  std::pair<Value<P>, std::shared_ptr<Tensor<f32>>> attend(View<const Activation> q, View<const Activation> k,
                                                           View<const Activation> v,
                                                           const AttentionOptions& options) const {
    const Shape& shape = q.shape();
    Tensor<Activation> out(shape);
    if (!tape_) {
      attention_into<P, WithoutBias>(q, k, v, options, out.view());
      return {train::variable(std::move(out)), nullptr};
    }
    auto log_sums = std::make_shared<Tensor<f32>>(Shape{shape[0], options.heads, shape[1]});
    attention_with_log_sums_into<P, WithoutBias>(q, k, v, options, out.view(), log_sums->view());
    return {train::variable(std::move(out)), std::move(log_sums)};
  }

  train::Tape* tape_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::language_model
