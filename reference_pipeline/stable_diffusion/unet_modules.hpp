// The modules of a UNet's stages, and the state between them. Pictures are [n, height, width, channels].
#pragma once

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include <stable_diffusion/unet.hpp>
#include <stable_diffusion/unet_blocks.hpp>
#include <stable_diffusion/unet_stages.hpp>
#include <stable_diffusion/unet_transformer.hpp>

#include <precast/backend.hpp>
#include <precast/nn/conv.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/ops/resample.hpp>
#include <precast/watch/scope.hpp>

namespace precast::stable_diffusion {

inline namespace PRECAST_BACKEND {

/// The inputs common to all stages of one prediction.
template <PolicyType P>
struct BlockConditions {
  View<const typename P::activation> time;  ///< silu of the time embedding, [n or 1, time_width]
  PromptReader<P>& prompts;
};

/// The output of one stage and input of the next.
template <PolicyType P>
struct StageState {
  using Activation = typename P::activation;
  std::vector<Tensor<Activation>> skips;  ///< skip connections to the way up, the latest last
  Tensor<Activation> result;              ///< the latest result; empty where that is the latest skip

  View<const Activation> latest() const {
    return result.elements() > 0 ? result.view() : skips.back().view();
  }
};

/// A convolution with stride 2.
template <PolicyType P>
class Halving {
 public:
  using Activation = typename P::activation;

  Halving(const nn::ParameterPath& place, std::int64_t channels)
      : conv_(place / "conv", channels, channels, 3) {}
  Tensor<Activation> operator()(View<const Activation> x) const {
    const watch::Scope scope("conv");
    return conv_.with(x, {.stride = 2, .pad_top = 1, .pad_left = 1, .pad_bottom = 1, .pad_right = 1});
  }

 private:
  nn::Conv2d<P> conv_;
};

/// Upsampling to a given size, then a convolution.
template <PolicyType P>
class Enlarging {
 public:
  using Activation = typename P::activation;

  Enlarging(const nn::ParameterPath& place, std::int64_t channels)
      : conv_(place / "conv", channels, channels, 3) {}
  /// Upsamples to the height and width of `size`.
  Tensor<Activation> operator()(Tensor<Activation> x, const Shape& size) const {
    Tensor<Activation> large(Shape{size[0], size[1], size[2], x.columns()});
    upsample_nearest_into<P>(x, 2, large.view());
    x = {};
    return watch::scoped("conv", [&] { return conv_(large); });
  }

 private:
  nn::Conv2d<P> conv_;
};

/// The module of a stage.
template <PolicyType P>
class StageModule {
 public:
  using Activation = typename P::activation;

  StageModule(const UNetStage& stage, const nn::ParameterPath& root, const UNetConfig& config)
      : stage_(stage), module_(loaded(stage, root / stage.place, config)) {}

  const UNetStage& stage() const { return stage_; }

  /// Appends the keys and values of the prompts, if the stage is a transformer.
  void read_prompts(View<const Activation> context, PromptAttention<P>& prompts) const {
    const watch::Scope scope(stage_.place);
    if (const auto* transformer = std::get_if<PictureTransformer<P>>(&module_))
      transformer->read_prompts(context, prompts);
  }

  void operator()(StageState<P>& state, const BlockConditions<P>& conditions) const {
    const watch::Scope scope(stage_.place);
    if (stage_.takes_skip) join_skip(state);
    state.result = std::visit([&](const auto& module) { return run(module, state, conditions); }, module_);
    if (!stage_.leaves_skip) return;
    state.skips.push_back(std::move(state.result));
    state.result = {};
  }

 private:
  using Module = std::variant<ResidualBlock<P>, PictureTransformer<P>, Halving<P>, Enlarging<P>>;

  static Module loaded(const UNetStage& stage, const nn::ParameterPath& place, const UNetConfig& config) {
    switch (stage.kind) {
      case UNetStage::Kind::residual:
        return ResidualBlock<P>(place, stage.in_channels, stage.out_channels, config);
      case UNetStage::Kind::transformer:
        return PictureTransformer<P>(place, stage.depth, config.levels[stage.level], config);
      case UNetStage::Kind::halve:
        return Halving<P>(place, stage.out_channels);
      case UNetStage::Kind::enlarge:
        break;
    }
    return Enlarging<P>(place, stage.out_channels);
  }

  /// Concatenates the channels of the latest result and of the latest skip, which is removed.
  static void join_skip(StageState<P>& state) {
    const View<const Activation> first = state.latest(), second = state.skips.back().view();
    Tensor<Activation> both(first.shape().with_back(first.columns() + second.columns()));
    copy_into<P>(first, both.view().columns_between(0, first.columns()));
    copy_into<P>(second, both.view().columns_between(first.columns(), second.columns()));
    state.skips.pop_back();
    state.result = std::move(both);
  }

  static Tensor<Activation> run(const ResidualBlock<P>& block, const StageState<P>& state,
                                const BlockConditions<P>& conditions) {
    return block(state.latest(), conditions.time);
  }
  static Tensor<Activation> run(const PictureTransformer<P>& transformer, const StageState<P>& state,
                                const BlockConditions<P>& conditions) {
    return transformer(state.latest(), conditions.prompts);
  }
  static Tensor<Activation> run(const Halving<P>& halving, const StageState<P>& state,
                                const BlockConditions<P>&) {
    return halving(state.latest());
  }
  static Tensor<Activation> run(const Enlarging<P>& enlarging, StageState<P>& state,
                                const BlockConditions<P>&) {
    return enlarging(std::move(state.result), state.skips.back().shape());
  }

  UNetStage stage_;
  Module module_;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::stable_diffusion
