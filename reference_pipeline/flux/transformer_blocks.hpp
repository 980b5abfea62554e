// The two kinds of block of a Flux transformer. Text and image tokens share one tensor, text first, so that
// joint attention needs no concatenation.
#pragma once

#include <cstdint>
#include <utility>

#include <flux/transformer.hpp>

#include <precast/backend.hpp>
#include <precast/nn/linear.hpp>
#include <precast/nn/norm.hpp>
#include <precast/ops/attention.hpp>
#include <precast/ops/norm.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/rotary.hpp>
#include <precast/watch/scope.hpp>

namespace precast::flux {

inline namespace PRECAST_BACKEND {

inline constexpr double norm_epsilon = 1e-6;

/// The inputs that all blocks of one prediction share.
template <PolicyType P>
struct BlockContext {
  using Activation = typename P::activation;
  View<const Activation> conditioning;  ///< silu of the time, guidance and text embedding, [1, inner]
  const RotaryTable& rotary;            ///< of all tokens, text first
  std::int64_t text_tokens = 0;
};

/// The shift and scale of a norm, and the gate of the branch that follows it. All [1, inner].
template <PolicyType P>
struct NormModulation {
  using Activation = typename P::activation;
  View<const Activation> shift, scale, gate{};

  Tensor<Activation> normed(View<const Activation> x) const {
    return layer_norm_modulate<P>(x, scale, shift, {.eps = norm_epsilon});
  }
};

/// A linear layer on the conditioning, cut into `parts` vectors of `inner` values: shifts, scales and gates.
template <PolicyType P>
class Modulation {
 public:
  using Activation = typename P::activation;

  /// The order of the parts is that of the weights' rows in diffusers' files.
  struct Values {
    Tensor<Activation> parts;
    std::int64_t inner;

    /// The modulation of a block's first norm, and of its second.
    NormModulation<P> first() const { return {.shift = part(0), .scale = part(1), .gate = part(2)}; }
    NormModulation<P> second() const { return {.shift = part(3), .scale = part(4), .gate = part(5)}; }
    /// The modulation of the model's last norm: unlike the blocks', scale before shift, and no gate.
    NormModulation<P> last() const { return {.shift = part(1), .scale = part(0)}; }

   private:
    View<const Activation> part(std::int64_t index) const {
      return parts.view().columns_between(index * inner, inner);
    }
  };

  Modulation(const nn::ParameterPath& place, std::int64_t inner, std::int64_t parts)
      : linear_(place / "linear", inner, parts * inner), inner_(inner) {}

  Values operator()(View<const Activation> conditioning) const {
    return {watch::scoped("linear", [&] { return linear_(conditioning); }), inner_};
  }

 private:
  nn::Linear<P> linear_;
  std::int64_t inner_;
};

/// Query, key and value projections with RMS-normalised queries and keys, written into rows of joint tensors.
template <PolicyType P>
class QueryKeyValue {
 public:
  using Activation = typename P::activation;
  /// Names of the three projections and the two norms in the file.
  struct Names {
    std::string_view query, key, value, query_norm, key_norm;
  };

  QueryKeyValue(const nn::ParameterPath& place, const Names& names, std::int64_t heads, std::int64_t head_dim)
      : names_(names),
        query_(place / names.query, heads * head_dim, heads * head_dim),
        key_(place / names.key, heads * head_dim, heads * head_dim),
        value_(place / names.value, heads * head_dim, heads * head_dim),
        query_norm_(place / names.query_norm, head_dim, norm_epsilon),
        key_norm_(place / names.key_norm, head_dim, norm_epsilon) {}

  void into(View<const Activation> x, View<Activation> query, View<Activation> key,
            View<Activation> value) const {
    project_and_normalise(x, query_, names_.query, query_norm_, names_.query_norm, query);
    project_and_normalise(x, key_, names_.key, key_norm_, names_.key_norm, key);
    const watch::Scope scope(names_.value);
    value_.into(x, value);
  }

 private:
  void project_and_normalise(View<const Activation> x, const nn::Linear<P>& linear,
                             std::string_view linear_name, const nn::RmsNorm<P>& norm,
                             std::string_view norm_name, View<Activation> out) const {
    const Tensor<Activation> projected = watch::scoped(linear_name, [&] { return linear(x); });
    const watch::Scope scope(norm_name);
    norm.heads_into(projected, out);
  }

  Names names_;
  nn::Linear<P> query_, key_, value_;
  nn::RmsNorm<P> query_norm_, key_norm_;
};

/// Queries and keys of all tokens in one tensor, [2, tokens, inner], so that one launch rotates both.
template <PolicyType P>
class QueriesAndKeys {
 public:
  using Activation = typename P::activation;

  explicit QueriesAndKeys(const Shape& tokens) : values_(Shape{2, tokens[0], tokens[1]}) {}

  View<Activation> queries() { return half(0); }
  View<Activation> keys() { return half(1); }
  void rotate(const RotaryTable& table) { values_ = precast::rotary<P>(values_, table); }

 private:
  View<Activation> half(std::int64_t index) {
    const Shape& shape = values_.shape();
    return values_.view().rows_between(index * shape[1], shape[1]);
  }

  Tensor<Activation> values_;
};

/// Rotates queries and keys, then attends; the result goes to `out`, [tokens, inner].
template <PolicyType P>
void rotary_attention(QueriesAndKeys<P> queries_and_keys, const Tensor<typename P::activation>& value,
                      std::int64_t heads, const RotaryTable& rotary, View<typename P::activation> out) {
  const Shape batched{1, value.rows(), value.columns()};
  queries_and_keys.rotate(rotary);
  AttentionOptions options;
  options.heads = heads;
  attention_into<P>(queries_and_keys.queries().reshaped(batched), queries_and_keys.keys().reshaped(batched),
                    value.view().reshaped(batched), options, out.reshaped(batched));
}

/// A double block: text and image tokens have weights of their own and meet in attention.
template <PolicyType P>
class DoubleBlock {
 public:
  using Activation = typename P::activation;

  DoubleBlock(const nn::ParameterPath& place, const TransformerConfig& config)
      : text_(place, config, {"add_q_proj", "add_k_proj", "add_v_proj", "norm_added_q", "norm_added_k"},
              {"norm1_context", "norm2_context", "to_add_out", "ff_context"}),
        image_(place, config, {"to_q", "to_k", "to_v", "norm_q", "norm_k"},
               {"norm1", "norm2", "to_out.0", "ff"}),
        heads_(config.num_attention_heads) {}

  /// Replaces x, [tokens, inner].
  void operator()(Tensor<Activation>& x, const BlockContext<P>& context) const {
    const std::int64_t text = context.text_tokens, image = x.rows() - text;
    Tensor<Activation> attended(x.shape());
    const auto text_modulation = text_.modulation(context.conditioning);
    const auto image_modulation = image_.modulation(context.conditioning);
    {
      QueriesAndKeys<P> both(x.shape());
      Tensor<Activation> value(x.shape());
      text_.project(x.view().rows_between(0, text), text_modulation.first(),
                    both.queries().rows_between(0, text), both.keys().rows_between(0, text),
                    value.view().rows_between(0, text));
      image_.project(x.view().rows_between(text, image), image_modulation.first(),
                     both.queries().rows_between(text, image), both.keys().rows_between(text, image),
                     value.view().rows_between(text, image));
      const watch::Scope scope("attn");
      rotary_attention<P>(std::move(both), value, heads_, context.rotary, attended);
    }
    text_.finish(x.view().rows_between(0, text), attended.view().rows_between(0, text), text_modulation);
    image_.finish(x.view().rows_between(text, image), attended.view().rows_between(text, image),
                  image_modulation);
  }

 private:
  /// One of the two streams of tokens.
  class Stream {
   public:
    struct Names {
      std::string_view norm1, norm2, attention_out, feed_forward;
    };

    Stream(const nn::ParameterPath& place, const TransformerConfig& config,
           const typename QueryKeyValue<P>::Names& projections, const Names& names)
        : names_(names),
          modulation_(place / names.norm1, config.inner_dim(), 6),
          projections_(place / "attn", projections, config.num_attention_heads, config.attention_head_dim),
          out_(place / "attn" / names.attention_out, config.inner_dim(), config.inner_dim()),
          widen_(place / names.feed_forward / "net.0.proj", config.inner_dim(), 4 * config.inner_dim()),
          narrow_(place / names.feed_forward / "net.2", 4 * config.inner_dim(), config.inner_dim()) {}

    typename Modulation<P>::Values modulation(View<const Activation> conditioning) const {
      return watch::scoped(names_.norm1, [&] { return modulation_(conditioning); });
    }

    void project(View<const Activation> x, const NormModulation<P>& modulation, View<Activation> query,
                 View<Activation> key, View<Activation> value) const {
      const Tensor<Activation> normed = watch::scoped(names_.norm1, [&] { return modulation.normed(x); });
      const watch::Scope scope("attn");
      projections_.into(normed, query, key, value);
    }

    /// Adds attention's and then the feed-forward's output to x.
    void finish(View<Activation> x, View<const Activation> attended,
                const typename Modulation<P>::Values& modulation) const {
      const Tensor<Activation> with_attention = [&] {
        const watch::Scope attn("attn"), scope(names_.attention_out);
        return gated_add<P>(x, out_(attended), modulation.first().gate);
      }();
      Tensor<Activation> hidden =
          watch::scoped(names_.norm2, [&] { return modulation.second().normed(with_attention); });
      const watch::Scope scope(names_.feed_forward);
      hidden = watch::scoped("net.0.proj", [&] { return widen_(hidden, ActivationFunction::gelu_tanh); });
      const watch::Scope net("net.2");
      gated_add_into<P>(with_attention, narrow_(hidden), modulation.second().gate, x);
    }

   private:
    Names names_;
    Modulation<P> modulation_;
    QueryKeyValue<P> projections_;
    nn::Linear<P> out_, widen_, narrow_;
  };

  Stream text_, image_;
  std::int64_t heads_;
};

/// A single block: all tokens share weights; attention and feed-forward run side by side into one projection.
template <PolicyType P>
class SingleBlock {
 public:
  using Activation = typename P::activation;

  SingleBlock(const nn::ParameterPath& place, const TransformerConfig& config)
      : modulation_(place / "norm", config.inner_dim(), 3),
        projections_(place / "attn", {"to_q", "to_k", "to_v", "norm_q", "norm_k"}, config.num_attention_heads,
                     config.attention_head_dim),
        widen_(place / "proj_mlp", config.inner_dim(), 4 * config.inner_dim()),
        out_(place / "proj_out", 5 * config.inner_dim(), config.inner_dim()),
        inner_(config.inner_dim()),
        heads_(config.num_attention_heads) {}

  /// Replaces x, [tokens, inner].
  void operator()(Tensor<Activation>& x, const BlockContext<P>& context) const {
    const auto [modulation, normed] = [&] {
      const watch::Scope scope("norm");
      auto values = modulation_(context.conditioning);
      Tensor<Activation> result = values.first().normed(x);
      return std::pair(std::move(values), std::move(result));
    }();
    Tensor<Activation> joined(Shape{x.rows(), 5 * inner_});
    {
      QueriesAndKeys<P> both(x.shape());
      Tensor<Activation> value(x.shape());
      const watch::Scope scope("attn");
      projections_.into(normed, both.queries(), both.keys(), value);
      rotary_attention<P>(std::move(both), value, heads_, context.rotary,
                          joined.view().columns_between(0, inner_));
    }
    {
      const watch::Scope scope("proj_mlp");
      widen_.into(normed, ActivationFunction::gelu_tanh, joined.view().columns_between(inner_, 4 * inner_));
    }
    const watch::Scope scope("proj_out");
    x = gated_add<P>(x, out_(joined), modulation.first().gate);
  }

 private:
  Modulation<P> modulation_;
  QueryKeyValue<P> projections_;
  nn::Linear<P> widen_, out_;
  std::int64_t inner_, heads_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::flux
