// The transformers of a UNet, with self-attention and attention to the prompt. Pictures are [n, height,
// width, channels].
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <stable_diffusion/unet.hpp>

#include <precast/backend.hpp>
#include <precast/nn/conv.hpp>
#include <precast/nn/linear.hpp>
#include <precast/nn/norm.hpp>
#include <precast/ops/attention.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/watch/scope.hpp>

namespace precast::stable_diffusion {

inline namespace PRECAST_BACKEND {

/// Keys and values of attention, each [n, rows, inner].
template <PolicyType P>
struct KeysAndValues {
  Tensor<typename P::activation> keys, values;
};

/// The keys and values of the prompts for each transformer block, in execution order.
template <PolicyType P>
using PromptAttention = std::vector<KeysAndValues<P>>;

/// Iterates over a PromptAttention during one prediction.
template <PolicyType P>
class PromptReader {
 public:
  explicit PromptReader(const PromptAttention<P>& prompts) : prompts_(prompts) {}
  /// The keys and values for the next block.
  const KeysAndValues<P>& next() { return prompts_[next_++]; }

 private:
  const PromptAttention<P>& prompts_;
  std::size_t next_ = 0;
};

/// Self-attention of pixels, or cross-attention to the prompt's tokens.
template <PolicyType P>
class PictureAttention {
 public:
  using Activation = typename P::activation;

  PictureAttention(const nn::ParameterPath& place, std::int64_t inner, std::int64_t attended,
                   std::int64_t heads)
      : query_(place / "to_q", inner, inner, nn::Bias::absent),
        key_(place / "to_k", attended, inner, nn::Bias::absent),
        value_(place / "to_v", attended, inner, nn::Bias::absent),
        out_(place / "to_out.0", inner, inner),
        heads_(heads) {}

  /// attended: [n, rows, width].
  KeysAndValues<P> keys_and_values(View<const Activation> attended) const {
    Tensor<Activation> keys = watch::scoped("to_k", [&] { return key_(attended); });
    return {std::move(keys), watch::scoped("to_v", [&] { return value_(attended); })};
  }

  /// x [n, pixels, inner] -> the same shape.
  Tensor<Activation> operator()(View<const Activation> x, const KeysAndValues<P>& attended) const {
    const Tensor<Activation> query = watch::scoped("to_q", [&] { return query_(x); });
    return attend(query, attended);
  }
  /// Self-attention of x.
  Tensor<Activation> operator()(View<const Activation> x) const {
    const Tensor<Activation> query = watch::scoped("to_q", [&] { return query_(x); });
    return attend(query, keys_and_values(x));
  }

 private:
  Tensor<Activation> attend(const Tensor<Activation>& query, const KeysAndValues<P>& attended) const {
    AttentionOptions options;
    options.heads = heads_;
    const Tensor<Activation> result = attention<P>(query, attended.keys, attended.values, options);
    return watch::scoped("to_out.0", [&] { return out_(result); });
  }

  nn::Linear<P> query_, key_, value_, out_;
  std::int64_t heads_;
};

/// Self-attention, attention to the prompt, and a gated feed-forward layer, each after a layer norm and
/// with a residual.
template <PolicyType P>
class TransformerBlock {
 public:
  using Activation = typename P::activation;

  TransformerBlock(const nn::ParameterPath& place, const UNetLevel& level, std::int64_t context_width)
      : norm1_(place / "norm1", level.inner(), norm_epsilon),
        norm2_(place / "norm2", level.inner(), norm_epsilon),
        norm3_(place / "norm3", level.inner(), norm_epsilon),
        to_picture_(place / "attn1", level.inner(), level.inner(), level.heads),
        to_prompt_(place / "attn2", level.inner(), context_width, level.heads),
        widen_(place / "ff" / "net.0.proj", level.inner(), 8 * level.inner()),
        narrow_(place / "ff" / "net.2", 4 * level.inner(), level.inner()) {}

  /// The keys and values of the prompts, which are the same in every prediction.
  KeysAndValues<P> of_prompts(View<const Activation> context) const {
    const watch::Scope scope("attn2");
    return to_prompt_.keys_and_values(context);
  }

  /// Updates x, [n, pixels, inner], in place.
  void operator()(Tensor<Activation>& x, const KeysAndValues<P>& prompts) const {
    {
      const Tensor<Activation> normed = watch::scoped("norm1", [&] { return norm1_(x); });
      x = add<P>(x, watch::scoped("attn1", [&] { return to_picture_(normed); }));
    }
    {
      const Tensor<Activation> normed = watch::scoped("norm2", [&] { return norm2_(x); });
      x = add<P>(x, watch::scoped("attn2", [&] { return to_prompt_(normed, prompts); }));
    }
    x = add<P>(x, feed_forward(watch::scoped("norm3", [&] { return norm3_(x); })));
  }

 private:
  static constexpr double norm_epsilon = 1e-5;

  Tensor<Activation> feed_forward(const Tensor<Activation>& x) const {
    const watch::Scope scope("ff");
    const Tensor<Activation> gated = [&] {
      const watch::Scope net("net.0");
      const Tensor<Activation> both = watch::scoped("proj", [&] { return widen_(x); });
      const std::int64_t half = both.columns() / 2;
      return gated_product<P>(both.view().columns_between(half, half), both.view().columns_between(0, half),
                              ActivationFunction::gelu_erf);
    }();
    return watch::scoped("net.2", [&] { return narrow_(gated); });
  }

  nn::LayerNorm<P> norm1_, norm2_, norm3_;
  PictureAttention<P> to_picture_, to_prompt_;
  nn::Linear<P> widen_, narrow_;
};

/// A linear layer over channels, stored as a linear layer or as a 1x1 convolution: the policy's class of op
/// follows the stored form.
template <PolicyType P>
class ChannelProjection {
 public:
  using Activation = typename P::activation;

  ChannelProjection(const nn::ParameterPath& place, std::int64_t in, std::int64_t out, bool linear) {
    if (linear)
      linear_.emplace(place, in, out);
    else
      conv_.emplace(place, in, out, 1);
  }
  Tensor<Activation> operator()(const Tensor<Activation>& x) const {
    return linear_ ? (*linear_)(x) : (*conv_)(x);
  }

 private:
  std::optional<nn::Linear<P>> linear_;
  std::optional<nn::Conv2d<P>> conv_;
};

/// diffusers' Transformer2DModel: a picture's pixels as tokens through transformer blocks, with a
/// residual.
template <PolicyType P>
class PictureTransformer {
 public:
  using Activation = typename P::activation;

  /// `depth` transformer blocks, of a level.
  PictureTransformer(const nn::ParameterPath& place, std::int64_t depth, const UNetLevel& level,
                     const UNetConfig& config)
      : norm_(place / "norm", config.norm_groups, level.channels, norm_epsilon),
        in_(place / "proj_in", level.channels, level.inner(), config.linear_projection),
        out_(place / "proj_out", level.inner(), level.channels, config.linear_projection) {
    blocks_.reserve(static_cast<std::size_t>(depth));
    for (std::int64_t i = 0; i < depth; ++i)
      blocks_.emplace_back(place / "transformer_blocks" / i, level, config.context_width);
  }

  /// Appends the keys and values of the prompts for its blocks.
  void read_prompts(View<const Activation> context, PromptAttention<P>& prompts) const {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const watch::Scope scope("transformer_blocks", static_cast<std::int64_t>(i));
      prompts.push_back(blocks_[i].of_prompts(context));
    }
  }

  Tensor<Activation> operator()(View<const Activation> x, PromptReader<P>& prompts) const {
    const Tensor<Activation> normed =
        watch::scoped("norm", [&] { return norm_(x, ActivationFunction::none); });
    Tensor<Activation> hidden = watch::scoped("proj_in", [&] { return in_(normed); });
    const Shape picture = hidden.shape();
    hidden = std::move(hidden).reshaped(Shape{picture[0], picture[1] * picture[2], picture[3]});
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const watch::Scope scope("transformer_blocks", static_cast<std::int64_t>(i));
      blocks_[i](hidden, prompts.next());
    }
    hidden = std::move(hidden).reshaped(picture);
    return add<P>(x, watch::scoped("proj_out", [&] { return out_(hidden); }));
  }

 private:
  static constexpr double norm_epsilon = 1e-6;

  nn::GroupNorm<P> norm_;
  ChannelProjection<P> in_, out_;
  std::vector<TransformerBlock<P>> blocks_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::stable_diffusion
