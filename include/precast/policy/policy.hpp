// Policy<...>: which format holds a value, which one multiplies it and which one sums it, as one canonical
// type.
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/policy/op_class.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/options.hpp>

namespace precast {

/// The canonical form of a policy: what remains when order and spelling are gone. Do not name it: write
/// Policy<...>.
template <class StorageType, class ComputeType, class AccumulateType, class ActivationType,
          std::uint32_t UpcastMask, std::uint32_t DowncastMask, bool UsesFlash, bool Saturates>
struct CanonicalPolicy {
  using storage = StorageType;
  using compute = ComputeType;
  using accumulate = AccumulateType;
  using activation = ActivationType;
  static constexpr bool flash = UsesFlash;
  static constexpr bool saturate = Saturates;
  /// Whether the op class is named in Upcast<...>.
  template <OpClass Op>
  static constexpr bool upcasts = (UpcastMask & AllOpClasses::bit<Op>) != 0;
  /// Whether the op class is named in Downcast<...>.
  template <OpClass Op>
  static constexpr bool downcasts = (DowncastMask & AllOpClasses::bit<Op>) != 0;
};

namespace detail {

/// Whether these are op classes, each named once.
template <class... Ops>
consteval bool named_once() {
  if constexpr ((OpClass<Ops> && ...))
    return std::popcount((0u | ... | AllOpClasses::bit<Ops>)) == sizeof...(Ops);
  else
    return false;
}

/// Whether the arguments of Upcast<...> or Downcast<...> are op classes, each named once.
template <class... Ops>
consteval bool valid_op_classes() {
  constexpr bool classes = (OpClass<Ops> && ...);
  static_assert(
      classes,
      "Policy: Upcast<...> and Downcast<...> take op classes only: Matmul, Conv, Attention, Norm, Softmax, "
      "Reduction, Loss, Pointwise or Position.");
  static_assert(!classes || named_once<Ops...>(),
                "Policy: Upcast<...> or Downcast<...> names an op class twice.");
  return named_once<Ops...>();
}

/// Whether the arguments of an option are valid.
template <class Option>
consteval bool valid_option(const Option*) {
  return true;
}
template <class... Ops>
consteval bool valid_option(const Upcast<Ops...>*) {
  return valid_op_classes<Ops...>();
}
template <class... Ops>
consteval bool valid_option(const Downcast<Ops...>*) {
  return valid_op_classes<Ops...>();
}
template <class Mode>
consteval bool valid_option(const Overflow<Mode>*) {
  constexpr bool known = std::is_same_v<Mode, Saturate> || std::is_same_v<Mode, Propagate>;
  static_assert(known, "Policy: Overflow<...> takes Saturate or Propagate.");
  return known;
}

// Each rule is checked only where those before it hold, so that one mistake gives one sentence.
template <class... Options>
consteval bool known_once() {
  constexpr bool known = ((option_kind<Options> != OptionKind::unknown) && ...);
  static_assert(
      known,
      "Policy: an option is not one of Storage<T>, Compute<T>, Accumulate<T>, Activation<T>, Upcast<Op...>, "
      "Downcast<Op...>, Flash or Overflow<Saturate>.");
  if constexpr (known) {
    constexpr int storages = times_given<OptionKind::storage, Options...>;
    static_assert(storages != 0, "Policy: Storage<T> is missing: say which dtype holds the parameters.");
    static_assert(storages < 2, "Policy: Storage<T> is given twice.");
    constexpr bool compute_once = times_given<OptionKind::compute, Options...> < 2;
    static_assert(compute_once, "Policy: Compute<T> is given twice.");
    constexpr bool accumulate_once = times_given<OptionKind::accumulate, Options...> < 2;
    static_assert(accumulate_once, "Policy: Accumulate<T> is given twice.");
    constexpr bool activation_once = times_given<OptionKind::activation, Options...> < 2;
    static_assert(activation_once, "Policy: Activation<T> is given twice.");
    constexpr bool upcast_once = times_given<OptionKind::upcast, Options...> < 2;
    static_assert(
        upcast_once,
        "Policy: Upcast<...> is given twice: name all op classes in one, Upcast<Attention, Matmul>.");
    constexpr bool downcast_once = times_given<OptionKind::downcast, Options...> < 2;
    static_assert(
        downcast_once,
        "Policy: Downcast<...> is given twice: name all op classes in one, Downcast<Attention, Norm>.");
    constexpr bool flash_once = times_given<OptionKind::flash, Options...> < 2;
    static_assert(flash_once, "Policy: Flash is given twice.");
    constexpr bool overflow_once = times_given<OptionKind::overflow, Options...> < 2;
    static_assert(overflow_once, "Policy: Overflow<...> is given twice.");
    constexpr bool once = storages == 1 && compute_once && accumulate_once && activation_once &&
                          upcast_once && downcast_once && flash_once && overflow_once;
    if constexpr (once) return (valid_option(static_cast<const Options*>(nullptr)) && ...);
  }
  return false;
}

template <class S, class C, class A, class R, bool UsesFlash>
consteval bool consistent() {
  if constexpr (Dtype<S>) static_cast<void>(declares_format<S>());
  static_assert(Dtype<S>,
                "Policy: Storage<T> needs a dtype, whose dtype_traits<T> has static constexpr name, "
                "values_per_block and bytes_per_block.");
  static_assert(
      !Dtype<S> || is_storable<S>,
      "Policy: Storage<T> needs a dtype that memory can hold; a format of operands, such as tf32, is not.");
  static_assert(!is_storable<S> || Dtype<C>,  // by default Compute is Storage
                "Policy: Compute<T> needs a scalar dtype, whose dtype_traits<T> has static constexpr name, "
                "values_per_block, bytes_per_block and format.");
  static_assert(!is_storable<S> || !Dtype<C> || ScalarDtype<C>,
                "Policy: Compute<T> needs a scalar dtype: block dtypes are stored, not multiplied.");
  static_assert(ScalarDtype<A>, "Policy: Accumulate<T> needs a scalar dtype.");
  static_assert(
      !ScalarDtype<C> ||
          (ScalarDtype<R> && is_storable<R>),  // by default Activation is Compute: one mistake, one sentence
      "Policy: Activation<T> needs a scalar dtype that memory can hold; a format of operands, such as tf32, "
      "is not.");
  if constexpr (is_storable<S> && ScalarDtype<C> && ScalarDtype<A> && ScalarDtype<R> && is_storable<R>) {
    if constexpr (is_within_f32<C> && is_within_f32<A>) {
      static_assert(
          widens_exactly<A, C>,
          "Policy: Accumulate<T> contradicts Compute<T>: a sum cannot be narrower than what it adds, "
          "nor without an infinity where that has one.");
      static_assert(!UsesFlash || std::is_same_v<A, f32>,
                    "Policy: Flash contradicts Accumulate<T>: an online softmax sums in f32.");
      return widens_exactly<A, C> && (!UsesFlash || std::is_same_v<A, f32>);
    } else {
      // A format beyond f32 gets its own message from format_of, not one about Accumulate.
      static_cast<void>(format_of<C>());
      static_cast<void>(format_of<A>());
    }
  }
  return false;
}

/// Whether the casts of an otherwise consistent policy neither repeat nor contradict each other.
template <std::uint32_t Up, std::uint32_t Down, bool SumsGiven, bool UsesFlash>
consteval bool casts_agree() {
  constexpr std::uint32_t attention = AllOpClasses::bit<Attention>,
                          products = attention | AllOpClasses::bit<Matmul> | AllOpClasses::bit<Conv>;
  constexpr bool apart = (Up & Down) == 0;
  static_assert(apart, "Policy: Upcast<...> contradicts Downcast<...>: both name the same op class.");
  constexpr bool summed_once = !apart || !SumsGiven || (Down & products) == 0;
  static_assert(summed_once,
                "Policy: Downcast<...> of Matmul, Conv or Attention contradicts Accumulate<T>: both say what "
                "their products are summed in.");
  constexpr bool agrees = apart && summed_once && (!UsesFlash || (Down & attention) == 0);
  static_assert(!apart || !summed_once || agrees,
                "Policy: Flash contradicts Downcast<Attention>: an online softmax sums in f32.");
  return agrees;
}

/// Whether an op class has the same row under two policies.
template <class P, class Q, class Op>
inline constexpr bool same_row = std::is_same_v<decltype(row_of<P, Op>()), decltype(row_of<Q, Op>())>;

/// Whether each cast of a policy changes the row of its op class.
template <class P, class Uncast, class... Ops>
consteval bool casts_change(OpClasses<Ops...>) {
  constexpr bool ups = ((!P::template upcasts<Ops> || !same_row<P, Uncast, Ops>)&&...);
  static_assert(ups,
                "Policy: Upcast<...> changes nothing for an op class that it names: operands, sums and "
                "intermediates of that class are f32, or as given, without it.");
  constexpr bool downs = ((!P::template downcasts<Ops> || !same_row<P, Uncast, Ops>)&&...);
  static_assert(
      downs || !ups,
      "Policy: Downcast<...> changes nothing for an op class that it names: that class keeps neither "
      "sums nor intermediates in a dtype wider than Compute<T>.");
  return ups && downs;
}

/// Whether two policies have the same row for every op class.
template <class P, class Q, class... Ops>
consteval bool same_rows(OpClasses<Ops...>) {
  return (same_row<P, Q, Ops> && ...);
}
/// Whether the Compute and the Accumulate of a policy change the row of an op class, against the same policy
/// with their defaults.
template <class P, class UsualCompute, class UsualAccumulate>
consteval bool formats_change() {
  constexpr bool computes = std::is_same_v<P, UsualCompute> || !same_rows<P, UsualCompute>(AllOpClasses{});
  static_assert(computes,
                "Policy: Compute<T> changes nothing: Upcast<...> names Matmul, Conv and Attention, whose "
                "operands are f32 then.");
  constexpr bool sums = std::is_same_v<P, UsualAccumulate> || !same_rows<P, UsualAccumulate>(AllOpClasses{});
  static_assert(sums,
                "Policy: Accumulate<T> changes nothing: Upcast<...> names Matmul, Conv and Attention, whose "
                "products are summed in f32 then.");
  return computes && sums;
}

template <class... Options>
consteval auto canonical() {
  if constexpr (known_once<Options...>()) {
    using Set = OptionSet<Options...>;
    constexpr const Set* set = nullptr;
    using S = typename decltype(pick_storage<NoStorage>(set))::type;
    using UsualCompute = std::conditional_t<BlockDtype<S>, bf16, S>;
    using C = typename decltype(pick_compute<UsualCompute>(set))::type;
    using A = typename decltype(pick_accumulate<f32>(set))::type;
    using R = typename decltype(pick_activation<activation_for<C>>(set))::type;
    constexpr bool flash = times_given<OptionKind::flash, Options...> == 1;
    constexpr bool sums_given = times_given<OptionKind::accumulate, Options...> == 1;
    constexpr std::uint32_t up = decltype(pick_upcast(set))::value,
                            down = decltype(pick_downcast(set))::value;
    constexpr bool saturates = std::is_same_v<decltype(pick_overflow(set)), Saturate>;
    if constexpr (consistent<S, C, A, R, flash>()) {
      if constexpr (casts_agree<up, down, sums_given, flash>()) {
        using P = CanonicalPolicy<S, C, A, R, up, down, flash, saturates>;
        using Uncast = CanonicalPolicy<S, C, A, R, 0, 0, flash, saturates>;
        if constexpr (up == 0 && down == 0) {
          return P{};
        } else if constexpr (casts_change<P, Uncast>(AllOpClasses{})) {
          using UsualActivation = typename decltype(pick_activation<activation_for<UsualCompute>>(set))::type;
          using InUsual = CanonicalPolicy<S, UsualCompute, A, UsualActivation, up, down, flash, saturates>;
          using SummedAsUsual = CanonicalPolicy<S, C, f32, R, up, down, flash, saturates>;
          if constexpr (formats_change<P, InUsual, SummedAsUsual>()) return P{};
        }
      }
    }
  }
}

}  // namespace detail

/// A precision policy: a set of options in any order. `Policy<Storage<bf16>, Upcast<Attention>>` and its
/// permutations are one type, so a kernel is stamped once. A wrong option is one static_assert sentence.
template <class... Options>
using Policy = decltype(detail::canonical<Options...>());

namespace detail {
template <class S, class C, class A, class R, std::uint32_t U, std::uint32_t D, bool F, bool O>
inline constexpr bool is_canonical_policy<CanonicalPolicy<S, C, A, R, U, D, F, O>> = true;

// Near misses (an option, a const or reference type) would otherwise be "no matching function".
template <class T>
consteval bool refused_policy() {
  constexpr bool option = option_kind<T> != OptionKind::unknown;
  static_assert(!option,
                "Policy: this is an option, where a policy is needed: write Policy<Storage<T>, ...>.");
  static_assert(option,
                "Policy: this type of a policy is const or a reference, as decltype says of a constant: "
                "write std::remove_cvref_t<decltype(policy)>.");
  return false;
}
template <class T>
  requires(option_kind<T> != OptionKind::unknown ||
           (!std::is_same_v<T, std::remove_cvref_t<T>> && is_canonical_policy<std::remove_cvref_t<T>>))
inline constexpr bool is_canonical_policy<T> = refused_policy<T>();
}  // namespace detail

}  // namespace precast
