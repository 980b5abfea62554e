// CLIP's text model as a template over the policy (Radford et al. 2021). Only kernels/ includes this.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <text/clip_text_model.hpp>

#include <precast/backend.hpp>
#include <precast/nn/linear.hpp>
#include <precast/nn/norm.hpp>
#include <precast/nn/widened.hpp>
#include <precast/ops/attention.hpp>
#include <precast/ops/embedding.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/watch/scope.hpp>

namespace precast::text {

inline namespace PRECAST_BACKEND {

/// One layer: causal self-attention and a feed-forward network, both with pre-norm and a residual.
template <PolicyType P>
class ClipLayer {
 public:
  using Activation = typename P::activation;

  ClipLayer(const nn::ParameterPath& place, const ClipConfig& config)
      : norm1_(place / "layer_norm1", config.hidden_size, config.layer_norm_eps),
        norm2_(place / "layer_norm2", config.hidden_size, config.layer_norm_eps),
        query_(place / "self_attn.q_proj", config.hidden_size, config.hidden_size),
        key_(place / "self_attn.k_proj", config.hidden_size, config.hidden_size),
        value_(place / "self_attn.v_proj", config.hidden_size, config.hidden_size),
        out_(place / "self_attn.out_proj", config.hidden_size, config.hidden_size),
        widen_(place / "mlp.fc1", config.hidden_size, config.intermediate_size),
        narrow_(place / "mlp.fc2", config.intermediate_size, config.hidden_size),
        activate_(config.hidden_act) {
    options_.heads = config.num_attention_heads;
    options_.causal = true;
  }

  /// x [1, tokens, hidden] -> the same shape.
  Tensor<Activation> operator()(const Tensor<Activation>& x) const {
    Tensor<Activation> after_attention = [&] {
      const Tensor<Activation> normed = watch::scoped("layer_norm1", [&] { return norm1_(x); });
      const watch::Scope scope("self_attn");
      const Tensor<Activation> query = watch::scoped("q_proj", [&] { return query_(normed); });
      const Tensor<Activation> key = watch::scoped("k_proj", [&] { return key_(normed); });
      const Tensor<Activation> value = watch::scoped("v_proj", [&] { return value_(normed); });
      const Tensor<Activation> attended = attention<P>(query, key, value, options_);
      return add<P>(x, watch::scoped("out_proj", [&] { return out_(attended); }));
    }();
    const Tensor<Activation> normed = watch::scoped("layer_norm2", [&] { return norm2_(after_attention); });
    const watch::Scope scope("mlp");
    const Tensor<Activation> hidden = watch::scoped("fc1", [&] { return widen_(normed, activate_); });
    return add<P>(after_attention, watch::scoped("fc2", [&] { return narrow_(hidden); }));
  }

 private:
  nn::LayerNorm<P> norm1_, norm2_;
  nn::Linear<P> query_, key_, value_, out_, widen_, narrow_;
  AttentionOptions options_;
  ActivationFunction activate_;
};

template <PolicyType P>
class ClipTextModelTemplate final : public ClipTextModel {
 public:
  using Activation = typename P::activation;
  using Storage = typename precisions<P, Pointwise>::storage;
  using VectorStorage = typename precisions<P, Pointwise>::vector_storage;

  /// `root` has the projection, `place` all other weights.
  ClipTextModelTemplate(const ClipConfig& config, const nn::ParameterPath& root,
                        const nn::ParameterPath& place)
      : config_(config),
        tokens_(nn::load_matrix<Storage>(place / "embeddings.token_embedding.weight",
                                         {config.vocab_size, config.hidden_size})),
        positions_(nn::load_tensor<VectorStorage>(place / "embeddings.position_embedding.weight",
                                                  {config.max_position_embeddings, config.hidden_size})),
        final_norm_(place / "final_layer_norm", config.hidden_size, config.layer_norm_eps) {
    layers_.reserve(static_cast<std::size_t>(config.num_hidden_layers));
    for (std::int64_t i = 0; i < config.num_hidden_layers; ++i)
      layers_.emplace_back(place / "encoder.layers" / i, config);
    if (config.projects)
      projection_.emplace(root / "text_projection", config.hidden_size, config.projection_dim,
                          nn::Bias::absent);
  }

  ClipOutput encode(std::span<const std::int32_t> ids, ClipState wanted) const override {
    const watch::Scope model(config_.scope);
    const auto count = static_cast<std::int64_t>(ids.size());
    Tensor<Activation> x = [&] {
      const watch::Scope scope("embeddings");
      const Tensor<Activation> found = embedding<P>(tokens_, ids);
      return add<P>(found, positions_.view().rows_between(0, count))
          .reshaped({1, count, config_.hidden_size});
    }();
    const auto normed = [&] { return watch::scoped("final_layer_norm", [&] { return final_norm_(x); }); };
    ClipOutput output;
    const std::int64_t layers = std::ssize(layers_), seen_after = layers - wanted.layers_left_out;
    for (std::int64_t i = 0; i < layers; ++i) {
      if (i == seen_after) output.hidden_state = wanted.final_norm ? on_host(normed()) : on_host(x);
      const watch::Scope scope("layers", i);
      x = layers_[static_cast<std::size_t>(i)](x);
    }
    if (seen_after == layers && !wanted.final_norm) output.hidden_state = on_host(x);
    x = normed();
    const std::int64_t place = DryRun::active() ? 0 : config_.pooled_position(ids);
    const View<const Activation> pooled = x.view().rows_between(place, 1);
    output.pooled =
        projection_
            ? to_host(nn::widened(watch::scoped("text_projection", [&] { return (*projection_)(pooled); })))
            : to_host(nn::widened(pooled));
    if (seen_after == layers && wanted.final_norm) output.hidden_state = on_host(x);
    return output;
  }

 private:
  /// x [1, tokens, hidden] -> [tokens, hidden] in f32.
  HostTensor<f32> on_host(const Tensor<Activation>& x) const {
    return to_host(nn::widened(x.view())).reshaped({x.shape()[1], config_.hidden_size});
  }

  ClipConfig config_;
  StoredMatrix<Storage> tokens_;
  Tensor<VectorStorage> positions_;
  std::vector<ClipLayer<P>> layers_;
  nn::LayerNorm<P> final_norm_;
  std::optional<nn::Linear<P>> projection_;
};

template <PolicyType P>
std::unique_ptr<ClipTextModel> make_clip_text_model(const ClipConfig& config,
                                                    const nn::ParameterSource& source) {
  const nn::ParameterPath root(source);
  const bool prefixed = source.contains("text_model.embeddings.token_embedding.weight");
  return std::make_unique<ClipTextModelTemplate<P>>(config, root, prefixed ? root / "text_model" : root);
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::text
