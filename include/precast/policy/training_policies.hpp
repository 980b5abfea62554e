// The policies that models are trained under, by name: "amp-f16", "bf16+flash".
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <precast/dtype/scalar.hpp>
#include <precast/policy/choice_options.hpp>
#include <precast/policy/gradient_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/policy/policy_path.hpp>
#include <precast/policy/presets.hpp>

namespace precast {

namespace regimes {

/// A way to train: storage, compute and activation dtypes, and whether upcasts and flash may be added.
template <Literal Name, bool CanUpcast, bool CanFlash, class... Options>
struct Regime {
  static constexpr std::string_view name = Name.view();
  static constexpr bool can_upcast = CanUpcast, can_flash = CanFlash;
  template <class... More>
  using with = Policy<Options..., More...>;
};

/// f32 throughout, which has nothing to cast up.
using F32 = Regime<"f32", false, true, Storage<f32>>;
/// f16 throughout, as in a model that is cast to f16 and trained so: sums, parameters and the optimiser's
/// moments as well. Upcasts and flash would contradict that.
using NaiveF16 = Regime<"naive-f16", false, false, Storage<f16>,
                        Downcast<Matmul, Attention, Norm, Softmax, Reduction, Loss, Pointwise>>;
/// Parameters and results between ops in f32, as autocast's residual stream is; operands in f16.
using AmpF16 = Regime<"amp-f16", true, true, Storage<f32>, Compute<f16>, Activation<f32>>;
/// The same with operands in bf16.
using AmpBf16 = Regime<"amp-bf16", true, true, Storage<f32>, Compute<bf16>, Activation<f32>>;
/// The model in 16 bits, and f32 masters of its parameters in the optimiser.
using Bf16 = Regime<"bf16", true, true, Storage<bf16>>;
using F16 = Regime<"f16", true, true, Storage<f16>>;
/// Operands in fp8, results in bf16.
using Fp8 = Regime<"fp8", true, true, Storage<f32>, Compute<fp8_e4m3>>;

}  // namespace regimes

/// The one list of regimes, in the order in which texts name them.
using TrainingRegimes = std::tuple<regimes::F32, regimes::NaiveF16, regimes::AmpF16, regimes::AmpBf16,
                                   regimes::Bf16, regimes::F16, regimes::Fp8>;

/// A training policy at run time: an index into TrainingRegimes, and the options added to it.
struct TrainingChoice {
  std::size_t regime = 0;
  ChoiceOptions options{};  ///< all but upcast_conv

  friend constexpr bool operator==(const TrainingChoice&, const TrainingChoice&) = default;
};

namespace detail {

struct RegimeFacts {
  std::string_view name;
  bool can_upcast, can_flash;
};
template <class... Regimes>
consteval auto facts_of(const std::tuple<Regimes...>*) {
  return std::array{RegimeFacts{Regimes::name, Regimes::can_upcast, Regimes::can_flash}...};
}
inline constexpr std::array regime_facts = facts_of(static_cast<const TrainingRegimes*>(nullptr));

constexpr bool is_policy(const TrainingChoice& choice) {
  const RegimeFacts& facts = regime_facts[choice.regime];
  const ChoiceOptions without_casts{.flash = choice.options.flash};
  return (facts.can_upcast || choice.options == without_casts) && (facts.can_flash || !choice.options.flash);
}

}  // namespace detail

/// Calls `put` with the parts of a choice's name: "f16+upcast-attention+flash".
template <class Put>
constexpr void spell_training_choice(const TrainingChoice& choice, Put&& put) {
  put(detail::regime_facts[choice.regime].name);
  spell_options(choice.options, put);
}
inline std::string to_string(const TrainingChoice& choice) {
  std::string text;
  spell_training_choice(choice, [&](std::string_view part) { text += part; });
  return text;
}

/// The choice that a text names: a regime or a preset, then any of +upcast-attention, +upcast-matmul, and
/// +flash or +no-flash, each once; upcasts of f32, which have no effect, are left out. Nothing for any
/// other text.
constexpr std::optional<TrainingChoice> training_choice_named(std::string_view text) {
  std::string_view base = text.substr(0, text.find('+'));
  ChoiceOptions options;
  if (const auto preset = preset_named(base)) {
    base = to_string(preset->choice.precision);
    options = preset->choice.options;
  }
  const OptionsRead read = read_options(text, options);
  TrainingChoice choice{.regime = detail::regime_facts.size(), .options = read.options};
  for (std::size_t regime = 0; regime < detail::regime_facts.size(); ++regime)
    if (detail::regime_facts[regime].name == base) choice.regime = regime;
  if (choice.regime == detail::regime_facts.size() || read.invalid || read.options.upcast_conv)
    return std::nullopt;
  if (base == regimes::F32::name) choice.options = {.flash = choice.options.flash};
  if (!detail::is_policy(choice)) return std::nullopt;
  return choice;
}

/// The names of the regimes, with commas between.
inline std::string training_regimes_in_words() {
  std::string names;
  for (const detail::RegimeFacts& facts : detail::regime_facts)
    names.append(names.empty() ? "" : ", ").append(facts.name);
  return names;
}

/// The names that training_choice_named accepts, as error messages list them.
inline std::string training_names_in_words() {
  std::string alone;
  for (const detail::RegimeFacts& facts : detail::regime_facts)
    if (!facts.can_upcast && !facts.can_flash) alone.append(alone.empty() ? "" : ", ").append(facts.name);
  return training_regimes_in_words() +
         ", or a preset, then any of +upcast-attention, +upcast-matmul, and +flash or +no-flash, each once" +
         (alone.empty() ? "" : " (" + alone + " takes none of them)");
}

/// The policies that are compiled by default (the CMake option PRECAST_TRAINING replaces them): each regime
/// of mixed precision, naive f16, each preset, and flash attention in bf16 with f32 parameters.
inline constexpr std::array<std::string_view, 10> default_training_policies{
    "f32", "naive-f16", "amp-f16",    "amp-bf16",       "bf16",
    "fp8", "f32+flash", "bf16+flash", "amp-bf16+flash", "f16+upcast-attention"};

namespace detail {

template <TrainingChoice Choice>
struct TrainingPolicyType {
  using Upcasts = UpcastFor<Choice.options>;
  template <class Regime>
  static consteval auto policy() {
    if constexpr (Choice.options.flash)
      return typename Regime::template with<Upcasts, Flash>{};
    else
      return typename Regime::template with<Upcasts>{};
  }
  using type = decltype(policy<std::tuple_element_t<Choice.regime, TrainingRegimes>>());
};

template <Literal Name>
consteval auto training_policy_of() {
  // A copy: under UBSan, g++ 12 does not take an address inside a template argument for a constant.
  constexpr Literal text = Name;
  constexpr std::optional<TrainingChoice> choice = training_choice_named(text.view());
  static_assert(choice.has_value(), "training_policy_named: no policy of training has this name.");
  if constexpr (choice) return typename TrainingPolicyType<*choice>::type{};
}

template <std::size_t... I, class Visitor>
constexpr void visit_training_choices(std::index_sequence<I...>, Visitor&& visitor) {
  constexpr std::size_t casts = 8;
  const auto visit = [&]<std::size_t Place>(std::integral_constant<std::size_t, Place>) {
    constexpr TrainingChoice choice{.regime = Place / casts,
                                    .options = {.flash = (Place & 4) != 0,
                                                .upcast_attention = (Place & 1) != 0,
                                                .upcast_matmul = (Place & 2) != 0}};
    if constexpr (is_policy(choice))
      visitor.template operator()<typename TrainingPolicyType<choice>::type>(choice);
  };
  (visit(std::integral_constant<std::size_t, I>{}), ...);
}

}  // namespace detail

/// The policy of a name: training_policy_named<"bf16+flash"> is Policy<Storage<bf16>, Flash>.
template <Literal Name>
using training_policy_named = decltype(detail::training_policy_of<Name>());

/// Calls `visitor.operator()<P>(choice)` for each choice that is a policy, whether a build holds it or not:
/// every regime, with each option that changes something.
template <class Visitor>
constexpr void for_each_training_policy(Visitor&& visitor) {
  detail::visit_training_choices(std::make_index_sequence<8 * std::tuple_size_v<TrainingRegimes>>(), visitor);
}

namespace detail {

template <class T>
inline constexpr bool narrower_in_range =
    dtype_traits<T>::format.exponent_bits < dtype_traits<f32>::format.exponent_bits;

}  // namespace detail

/// Whether the loss is scaled: where gradients pass through a format that flushes small ones to zero (f16),
/// unless the policy keeps everything in that format to show the effect.
template <PolicyType P>
inline constexpr bool scales_loss =
    std::is_same_v<typename training<P>::master, f32> &&
    (detail::narrower_in_range<typename gradient_precisions<P, Matmul>::operand> ||
     detail::narrower_in_range<typename gradient_precisions<P, Attention>::operand> ||
     detail::narrower_in_range<typename training<P>::gradient>);

}  // namespace precast
