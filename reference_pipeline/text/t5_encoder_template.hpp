// T5's encoder as a template over the policy (Raffel et al. 2020, in its 1.1 form). Only kernels/ includes
// this.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <text/t5_encoder.hpp>

#include <precast/backend.hpp>
#include <precast/nn/linear.hpp>
#include <precast/nn/norm.hpp>
#include <precast/nn/widened.hpp>
#include <precast/ops/attention.hpp>
#include <precast/ops/embedding.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/tensor/arrived.hpp>
#include <precast/watch/scope.hpp>

namespace precast::text {

inline namespace PRECAST_BACKEND {

/// One layer: self-attention with relative position bias and without a scale, and a (gated) feed-forward.
template <PolicyType P>
class T5Layer {
 public:
  using Activation = typename P::activation;
  static constexpr auto no_bias = nn::Bias::absent;

  T5Layer(const nn::ParameterPath& place, const T5Config& config)
      : attention_norm_(place / "layer.0.layer_norm", config.d_model, config.layer_norm_epsilon),
        feed_forward_norm_(place / "layer.1.layer_norm", config.d_model, config.layer_norm_epsilon),
        query_(place / "layer.0.SelfAttention.q", config.d_model, config.inner(), no_bias),
        key_(place / "layer.0.SelfAttention.k", config.d_model, config.inner(), no_bias),
        value_(place / "layer.0.SelfAttention.v", config.d_model, config.inner(), no_bias),
        out_(place / "layer.0.SelfAttention.o", config.inner(), config.d_model, no_bias),
        widen_(place / "layer.1.DenseReluDense" / (config.gated ? "wi_0" : "wi"), config.d_model, config.d_ff,
               no_bias),
        narrow_(place / "layer.1.DenseReluDense.wo", config.d_ff, config.d_model, no_bias),
        activation_(config.activation) {
    if (config.gated)
      gate_.emplace(place / "layer.1.DenseReluDense.wi_1", config.d_model, config.d_ff, no_bias);
  }

  /// x [1, tokens, d_model] -> the same shape.
  Tensor<Activation> operator()(const Tensor<Activation>& x, const AttentionOptions& options) const {
    Tensor<Activation> after_attention = [&] {
      const watch::Scope layer("layer.0");
      const Tensor<Activation> normed = watch::scoped("layer_norm", [&] { return attention_norm_(x); });
      const watch::Scope scope("SelfAttention");
      const Tensor<Activation> query = watch::scoped("q", [&] { return query_(normed); });
      const Tensor<Activation> key = watch::scoped("k", [&] { return key_(normed); });
      const Tensor<Activation> value = watch::scoped("v", [&] { return value_(normed); });
      const Tensor<Activation> attended = attention<P>(query, key, value, options);
      return add<P>(x, watch::scoped("o", [&] { return out_(attended); }));
    }();
    const watch::Scope layer("layer.1");
    const Tensor<Activation> normed =
        watch::scoped("layer_norm", [&] { return feed_forward_norm_(after_attention); });
    const watch::Scope scope("DenseReluDense");
    Tensor<Activation> hidden = [&] {
      if (!gate_) return watch::scoped("wi", [&] { return widen_(normed, activation_); });
      const Tensor<Activation> widened = watch::scoped("wi_0", [&] { return widen_(normed, activation_); });
      const Tensor<Activation> gate = watch::scoped("wi_1", [&] { return (*gate_)(normed); });
      return gated_product<P>(widened, gate, ActivationFunction::none);
    }();
    return add<P>(after_attention, watch::scoped("wo", [&] { return narrow_(hidden); }));
  }

 private:
  nn::RmsNorm<P> attention_norm_, feed_forward_norm_;
  nn::Linear<P> query_, key_, value_, out_, widen_, narrow_;
  std::optional<nn::Linear<P>> gate_;
  ActivationFunction activation_;
};

template <PolicyType P>
class T5EncoderTemplate final : public T5Encoder {
 public:
  using Activation = typename P::activation;
  using Storage = typename precisions<P, Pointwise>::storage;
  using VectorStorage = typename precisions<P, Pointwise>::vector_storage;

  T5EncoderTemplate(const T5Config& config, const nn::ParameterPath& root)
      : config_(config),
        tokens_(nn::load_matrix<Storage>(
            root / (root.contains("shared.weight") ? "shared" : "encoder.embed_tokens") / "weight",
            {config.vocab_size, config.d_model})),
        relative_bias_(nn::load_host_tensor<VectorStorage>(
            root / "encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight",
            {config.relative_attention_num_buckets, config.num_heads})),
        final_norm_(root / "encoder.final_layer_norm", config.d_model, config.layer_norm_epsilon) {
    layers_.reserve(static_cast<std::size_t>(config.num_layers));
    for (std::int64_t i = 0; i < config.num_layers; ++i)
      layers_.emplace_back(root / "encoder.block" / i, config);
  }

  HostTensor<f32> encode(std::span<const std::int32_t> ids) const override {
    const watch::Scope model("text_encoder_2");
    const auto count = static_cast<std::int64_t>(ids.size());
    Tensor<Activation> x = [&] {
      const watch::Scope scope("shared");
      return embedding<P>(tokens_, ids).reshaped({1, count, config_.d_model});
    }();
    const HostTensor<f32> bias = position_bias(count);
    const Arrived<f32> arrived(bias);
    AttentionOptions options;
    options.heads = config_.num_heads;
    options.scale = 1;  // T5's initialisation of weights includes the scale
    options.bias = arrived.view();
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const watch::Scope scope("block", static_cast<std::int64_t>(i));
      x = layers_[i](x, options);
    }
    const watch::Scope scope("final_layer_norm");
    return to_host(nn::widened(final_norm_(x)).reshaped({count, config_.d_model}));
  }

 private:
  /// [heads, tokens, tokens]: the bias of each distance's bucket, from the first layer for all layers.
  HostTensor<f32> position_bias(std::int64_t count) const {
    HostTensor<f32> bias(Shape{config_.num_heads, count, count});
    if (DryRun::active()) return bias;
    for (std::int64_t distance = 1 - count; distance < count; ++distance) {
      const auto of_bucket = relative_bias_.view().row(config_.bucket(distance));
      for (std::int64_t head = 0; head < config_.num_heads; ++head) {
        const f32 value = convert<f32>(of_bucket[static_cast<std::size_t>(head)]);
        for (std::int64_t query = std::max<std::int64_t>(0, -distance);
             query < std::min(count, count - distance); ++query)
          bias.data()[(head * count + query) * count + query + distance] = value;
      }
    }
    return bias;
  }

  T5Config config_;
  StoredMatrix<Storage> tokens_;
  HostTensor<VectorStorage> relative_bias_;
  std::vector<T5Layer<P>> layers_;
  nn::RmsNorm<P> final_norm_;
};

template <PolicyType P>
std::unique_ptr<T5Encoder> make_t5_encoder(const T5Config& config, const nn::ParameterSource& source) {
  return std::make_unique<T5EncoderTemplate<P>>(config, nn::ParameterPath(source));
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::text
