// PolicyChoice: a policy as a user names it at run time, before the visitor turns it into a type.
#pragma once

#include <algorithm>
#include <string>
#include <type_traits>

#include <precast/policy/choice_options.hpp>
#include <precast/policy/op_class.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/path_dtypes.hpp>
#include <precast/policy/policy.hpp>

namespace precast {

/// What the command line can ask of one component.
struct PolicyChoice {
  Precision precision = precision_of<f32>;
  ChoiceOptions options{};

  friend constexpr bool operator==(const PolicyChoice&, const PolicyChoice&) = default;

  /// The same choice without options that have no effect: f32 has nothing to upcast.
  constexpr PolicyChoice normalised() const {
    if (precision == precision_of<f32>) return {.precision = precision, .options = {.flash = options.flash}};
    return *this;
  }
  /// The same choice for a part of a model that has no convolutions.
  constexpr PolicyChoice without_upcast_conv() const {
    PolicyChoice without = *this;
    without.options.upcast_conv = false;
    return without;
  }
};

/// The path that satisfies a choice and adds the least. Convolutions are upcast alone, or with both
/// attention and linear layers: a choice of one of these gets the other too. All other choices are paths.
constexpr PolicyChoice nearest_path(const PolicyChoice& choice) {
  PolicyChoice path = choice.normalised();
  ChoiceOptions& options = path.options;
  if (options.upcast_conv)
    options.upcast_attention = options.upcast_matmul = options.upcast_attention || options.upcast_matmul;
  return path;
}

/// Whether a choice, once normalised, is a path that a build can contain.
constexpr bool is_path(const PolicyChoice& choice) {
  return is_path_precision(choice.precision) && nearest_path(choice) == choice.normalised();
}

/// "Policy<Storage<bf16>, Upcast<Attention>, Flash>": the C++ spelling of a choice.
inline std::string to_string(const PolicyChoice& choice) {
  std::string text = "Policy<Storage<" + std::string(to_string(choice.precision)) + ">";
  std::string casts;
  detail::for_each_cast([&](auto, const ChoiceCast& cast) {
    if (choice.options.*cast.wanted) casts.append(casts.empty() ? "" : ", ").append(cast.op);
  });
  if (!casts.empty()) text += ", Upcast<" + casts + ">";
  return text + (choice.options.flash ? ", Flash>" : ">");
}

/// Whether a choice can express a policy: storage and compute in one dtype, the default activations for it,
/// flash, and no casts but those of `choice_casts`.
template <PolicyType P>
consteval bool in_one_precision() {
  using T = typename P::compute;
  bool casts_fit = true;
  AllOpClasses::for_each([&]<class Op>(Op) {
    const bool can_upcast = std::ranges::find(choice_casts, Op::name, &ChoiceCast::op) != choice_casts.end();
    casts_fit = casts_fit && !P::template downcasts<Op> && (can_upcast || !P::template upcasts<Op>);
  });
  return std::is_same_v<typename P::storage, T> &&
         std::is_same_v<typename P::activation, activation_for<T>> &&
         std::is_same_v<typename P::accumulate, f32> && !P::saturate && casts_fit;
}

/// The choice that names a policy. It exists only for policies that the command line can name: in one
/// precision of PathDtypes.
template <PolicyType P>
constexpr PolicyChoice choice_of() {
  using T = typename P::storage;
  static_assert(in_one_precision<P>() && PathDtype<T>,
                "The pipeline is compiled for policies of one precision of PathDtypes, with Flash and "
                "Upcast<Attention, Matmul, Conv>.");
  PolicyChoice choice{.precision = precision_of<T>, .options = {.flash = P::flash}};
  detail::for_each_cast(
      [&]<class Op>(Op, const ChoiceCast& cast) { choice.options.*cast.wanted = P::template upcasts<Op>; });
  return choice;
}

}  // namespace precast
