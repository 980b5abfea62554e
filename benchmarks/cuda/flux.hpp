// Blocks of Flux, and a step of denoising with a whole transformer, under one policy.
//
// Floors at 4096 + 512 tokens: a block multiplies 24 T 3072^2 in its layers and attention 4 T^2 3072, 1.04 +
// 0.26 TFLOP, and reads its weights once, 340 M or 142 M. A step is 57 blocks: 74 TFLOP, and 11.9 G weights,
// 24 GB in bf16 and f16 and 48 GB in f32.
#pragma once

#include <cmath>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <common/flux_parts.hpp>
#include <common/policies.hpp>
#include <common/random_tensor.hpp>
#include <cuda/largest_product.hpp>
#include <cuda/measure.hpp>
#include <cuda/suite.hpp>
#include <flux/transformer_model.hpp>

#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/cuda/runtime/replay.hpp>

namespace precast::bench {

namespace detail {

inline std::string tokens_text(const Tokens& tokens) {
  return std::to_string(tokens.image) + "+" + std::to_string(tokens.text);
}

/// Bytes of a part's weights as stored.
template <PolicyType P>
double stored_bytes(double parameters) {
  return parameters * sizeof(typename precisions<P, Matmul>::storage);
}

/// Bytes that a part needs beside its weights: thirty results of ops as wide as the feed-forward layer's, and
/// scores where they are stored.
template <PolicyType P>
double working_bytes(const flux::TransformerConfig& config, const Tokens& tokens) {
  const auto all = static_cast<double>(tokens.all());
  const double scores = P::flash ? 0 : 8 * all * all * static_cast<double>(config.num_attention_heads);
  return 30 * all * static_cast<double>(config.inner_dim()) * sizeof(typename P::activation) + scores;
}

/// A block, replayed as a graph as in the pipeline.
template <PolicyType P, template <class> class Block>
void run_block(benchmark::State& state, const Suite& suite, const std::string& prefix, const Tokens& tokens) {
  using Activation = typename P::activation;
  constexpr bool single = std::is_same_v<Block<P>, flux::SingleBlock<P>>;
  const flux::TransformerConfig& config = suite.sizes.model;
  const testing::TensorShapes shapes = tensors_under(prefix, config);
  const testing::RandomSource<bf16> source(shapes);
  const RotaryTable rotary = positions(config, tokens);
  const auto conditioning = random_tensor<Activation>({1, config.inner_dim()});
  const auto start = random_tensor<Activation>({tokens.all(), config.inner_dim()});
  const flux::BlockContext<P> context{conditioning, rotary, tokens.text};
  const PeakMemory peak;
  const Block<P> block(nn::ParameterPath(source) / prefix, config);
  const auto run = [&] {
    Tensor<Activation> x = start.clone();
    block(x, context);
    return x;
  };
  require_result(run());
  state.counters["memory"] = peak.over_weights<P>(parameters_of(shapes));
  gpu::Replay replay;
  using Operand = typename precisions<P, Matmul>::operand;
  compare_with_largest_product<Operand>(state, suite, work_of_block(config, single, tokens).flops(),
                                        [&] { replay([&] { (void)run(); }); });
}

/// Steps of denoising as the pipeline takes them. The first runs as it is, the second is recorded, and those
/// after them, which are replayed, are measured from the start of one to the start of the next.
template <PolicyType P>
void run_step(benchmark::State& state, const Suite& suite) {
  const flux::TransformerConfig& config = suite.sizes.model;
  const Tokens tokens = suite.sizes.step_tokens;
  const testing::TensorShapes shapes = testing::tensors_of(config);
  const testing::RandomSource<bf16> source(shapes);
  const PeakMemory peak;
  const std::unique_ptr<flux::Transformer> transformer = flux::make_transformer<P>(config, source);
  const auto inputs = [](std::int64_t rows, std::int64_t columns) {
    return to_host(random_tensor<f32>({rows, columns}));
  };
  HostTensor<f32> latents = inputs(tokens.image, config.in_channels);
  const HostTensor<f32> prompt = inputs(tokens.text, config.joint_attention_dim),
                        pooled = inputs(1, config.pooled_projection_dim);
  const auto side = static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(tokens.image))));
  const flux::TransformerInput input{latents, prompt, pooled, 0, 3.5f, side, side};

  constexpr std::size_t before_replay = 2;
  const auto measured = static_cast<std::size_t>(state.max_iterations);
  std::vector<flux::DenoiseStep> steps(before_replay + measured + 1);
  const f32 distance = -1 / static_cast<f32>(steps.size());
  for (std::size_t step = 0; step < steps.size(); ++step)
    steps[step] = {1 + distance * static_cast<f32>(step), distance};
  transformer->denoise(latents, {input, steps},
                       [&](std::int64_t step) { suite.device.mark(static_cast<std::size_t>(step)); });
  require_result(latents);
  state.counters["memory"] = peak.over_weights<P>(parameters_of(shapes));

  // Apart from what is measured: two steps, of which the second is recorded.
  state.counters["launches"] = static_cast<double>(suite.device.launches_recorded([&] {
    transformer->denoise(latents, {input, std::span(steps).first(2)}, [](std::int64_t) {});
  }));

  std::vector<double> seconds;
  for (std::size_t step = before_replay; step < before_replay + measured; ++step)
    seconds.push_back(suite.device.seconds(step, step + 1));
  using Operand = typename precisions<P, Matmul>::operand;
  LargestProduct<Operand> largest(suite.sizes.largest_product);
  std::size_t next = 0;
  const InTurn times = time_in_turn(
      state, [&] { return seconds[next++]; }, [&] { return seconds_cold(suite.device, largest); });
  double flops = 0;
  for (const bool single : {false, true})
    flops += static_cast<double>(single ? config.num_single_layers : config.num_layers) *
             work_of_block(config, single, tokens).flops();
  state.counters["share"] = times.reference_over_work * flops / largest.flops();
  state.counters["ceiling_rate"] = largest.flops() / times.reference_seconds;
  state.counters["flops"] = flops / times.seconds;
}

}  // namespace detail

template <PolicyType P>
void add_flux(const Suite& suite) {
  const flux::TransformerConfig& config = suite.sizes.model;
  const std::string policy = std::string("/") + name_of<P> + "/";
  using Operand = typename precisions<P, Matmul>::operand;
  const double largest = LargestProduct<Operand>::bytes(suite.sizes.largest_product);
  for (const Tokens& tokens : suite.sizes.block_tokens) {
    const auto add_block = [&]<template <class> class Block>(const std::string& kind,
                                                             const std::string& prefix) {
      const double weights = detail::stored_bytes<P>(parameters_of(tensors_under(prefix, config)));
      add(suite, kind + policy + detail::tokens_text(tokens), 10,
          weights + largest +
              2 * detail::working_bytes<P>(config, tokens),  // of a graph and of the run before it
          [&suite, prefix, tokens](benchmark::State& state) {
            detail::run_block<P, Block>(state, suite, prefix, tokens);
          });
    };
    add_block.template operator()<flux::DoubleBlock>("double_block", "transformer_blocks.0");
    add_block.template operator()<flux::SingleBlock>("single_block", "single_transformer_blocks.0");
  }
  add(suite, "denoise_step" + policy + detail::tokens_text(suite.sizes.step_tokens), 5,
      detail::stored_bytes<P>(parameters_of(testing::tensors_of(config))) + largest +
          2 * detail::working_bytes<P>(config, suite.sizes.step_tokens),
      [&suite](benchmark::State& state) { detail::run_step<P>(state, suite); });
}

}  // namespace precast::bench
