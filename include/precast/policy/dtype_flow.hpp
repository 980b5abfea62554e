// The dtype of every value of a small transformer under a policy, from the op table alone: the trace of a
// run must match it.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <precast/policy/op_class.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/policy/policy_path.hpp>
#include <precast/policy/presets.hpp>
#include <precast/policy/training_policies.hpp>

namespace precast {

/// An op of the transformer, its path, and its result under autocast with f32 parameters.
struct FlowStep {
  std::string_view path;      ///< "blocks.0.attn.qkv"
  std::string_view function;  ///< of Precast: "linear"
  std::string_view op;        ///< its class: "Matmul"
  /// Whether its result is f16 or bf16 under autocast, on CUDA and the CPU alike, else f32.
  bool in_lower_precision;
};

/// The language model of one block in autocast_amp_notebook.md, in execution order: embeddings of
/// tokens and positions, layer norm, attention, layer norm, gelu between two linear layers, layer
/// norm, head, loss.
inline constexpr std::array dtype_flow_steps{
    FlowStep{"tok_emb", "embedding", Pointwise::name, false},
    FlowStep{"pos_emb", "embedding", Pointwise::name, false},
    FlowStep{"x", "add", Pointwise::name, false},
    FlowStep{"blocks.0.ln1", "layer_norm", Norm::name, false},
    FlowStep{"blocks.0.attn.qkv", "linear", Matmul::name, true},
    FlowStep{"blocks.0.attn", "attention", Attention::name, true},
    FlowStep{"blocks.0.attn.proj", "linear", Matmul::name, true},
    FlowStep{"blocks.0.residual_1", "add", Pointwise::name, false},
    FlowStep{"blocks.0.ln2", "layer_norm", Norm::name, false},
    FlowStep{"blocks.0.mlp.fc1", "linear", Matmul::name, true},
    FlowStep{"blocks.0.mlp.gelu", "activate", Pointwise::name, true},
    FlowStep{"blocks.0.mlp.fc2", "linear", Matmul::name, true},
    FlowStep{"blocks.0.residual_2", "add", Pointwise::name, false},
    FlowStep{"ln_f", "layer_norm", Norm::name, false},
    FlowStep{"head", "linear", Matmul::name, true},
    FlowStep{"loss", "cross_entropy", Loss::name, false},
};

/// The dtypes of every step under a policy, in the order of `dtype_flow_steps`.
template <PolicyType P>
constexpr std::array<DtypeNames, dtype_flow_steps.size()> dtype_flow() {
  std::array<DtypeNames, dtype_flow_steps.size()> rows{};
  AllOpClasses::for_each([&]<class Op>(Op) {
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (dtype_flow_steps[i].op == Op::name) rows[i] = dtype_names<precisions<P, Op>>();
  });
  return rows;
}

/// A policy and its name in the tables of the dtype flow.
template <class P>
struct FlowPolicy {
  using policy = P;
  std::string_view name;
};

namespace detail {

template <std::size_t Place>
using PresetPolicy = typename PolicyPath<named_presets[Place].choice>::policy;

template <class Visitor, std::size_t... Preset, class... Regimes>
constexpr void visit_flow_policies(Visitor& visitor, std::index_sequence<Preset...>,
                                   const std::tuple<Regimes...>*) {
  (visitor(FlowPolicy<PresetPolicy<Preset>>{named_presets[Preset].name}), ...);
  const auto visit_regime = [&]<class Regime>(std::type_identity<Regime>) {
    using P = typename Regime::template with<>;
    if constexpr (!(std::is_same_v<P, PresetPolicy<Preset>> || ...)) visitor(FlowPolicy<P>{Regime::name});
  };
  (visit_regime(std::type_identity<Regimes>{}), ...);
}

}  // namespace detail

/// Calls `visitor(FlowPolicy<P>{name})` for each policy in the tables of the dtype flow: the presets, then
/// the training regimes without options. A policy that is both is listed as a preset.
template <class Visitor>
constexpr void for_each_flow_policy(Visitor&& visitor) {
  detail::visit_flow_policies(visitor, std::make_index_sequence<named_presets.size()>(),
                              static_cast<const TrainingRegimes*>(nullptr));
}

}  // namespace precast
