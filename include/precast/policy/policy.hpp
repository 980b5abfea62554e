// Policy<...>: which format holds a value, which one multiplies it and which one sums it, as one canonical
// type.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/policy/op_class.hpp>

namespace precast {

/// Option: the dtype of parameters at rest, scalar or block. Every policy has one.
template <class T>
struct Storage {};
/// Option: the dtype of the operands of matmul, convolution and attention. Default: Storage's, or bf16 for
/// blocks.
template <class T>
struct Compute {};
/// Option: the dtype of the sums inside those products. Default: f32.
template <class T>
struct Accumulate {};
/// Option: the dtype of results between ops. Default: Compute's; f32 for tf32 and bf16 for fp8, which are
/// formats of operands.
template <class T>
struct Activation {};
/// Option: these op classes take f32 operands and keep f32 intermediates, whatever Compute says.
template <class... Ops>
struct Upcast {};
/// Option: attention is tiled with an online softmax (Dao et al. 2022): scores never reach memory, and are
/// f32.
struct Flash {};
/// Option: what a store does with a value above the range of its format.
template <class Mode>
struct Overflow {};
/// Overflow<Saturate>: stores clamp to the largest finite value.
struct Saturate {};
/// Overflow<Propagate>, the default: stores become inf (NaN where the format has no infinity).
struct Propagate {};

namespace detail {

enum class OptionKind : std::uint8_t {
  storage,
  compute,
  accumulate,
  activation,
  upcast,
  flash,
  overflow,
  unknown
};

template <class Option>
inline constexpr OptionKind option_kind = OptionKind::unknown;
template <class T>
inline constexpr OptionKind option_kind<Storage<T>> = OptionKind::storage;
template <class T>
inline constexpr OptionKind option_kind<Compute<T>> = OptionKind::compute;
template <class T>
inline constexpr OptionKind option_kind<Accumulate<T>> = OptionKind::accumulate;
template <class T>
inline constexpr OptionKind option_kind<Activation<T>> = OptionKind::activation;
template <class... Ops>
inline constexpr OptionKind option_kind<Upcast<Ops...>> = OptionKind::upcast;
template <>
inline constexpr OptionKind option_kind<Flash> = OptionKind::flash;
template <class Mode>
inline constexpr OptionKind option_kind<Overflow<Mode>> = OptionKind::overflow;

/// The dtype that an operand format leaves between ops.
template <class T>
using activation_for = std::conditional_t<
    std::is_same_v<T, tf32>, f32,
    std::conditional_t<std::is_same_v<T, fp8_e4m3> || std::is_same_v<T, fp8_e5m2>, bf16, T>>;

template <class T>
inline constexpr bool is_resting = Dtype<T> && !std::is_same_v<T, tf32>;

// Overload look-up over inherited options: each pick is one overload resolution, however many options there
// are.
template <class... Options>
struct OptionSet : Options... {};
template <class Default, class T>
T pick_storage(const Storage<T>*);
template <class Default>
Default pick_storage(...);
template <class Default, class T>
T pick_compute(const Compute<T>*);
template <class Default>
Default pick_compute(...);
template <class Default, class T>
T pick_accumulate(const Accumulate<T>*);
template <class Default>
Default pick_accumulate(...);
template <class Default, class T>
T pick_activation(const Activation<T>*);
template <class Default>
Default pick_activation(...);
template <class... Ops>
std::integral_constant<std::uint32_t, (0u | ... | AllOpClasses::bit<Ops>)> pick_upcast(const Upcast<Ops...>*);
std::integral_constant<std::uint32_t, 0> pick_upcast(...);
template <class Mode>
Mode pick_overflow(const Overflow<Mode>*);
Propagate pick_overflow(...);

struct NoStorage {};

}  // namespace detail

/// The canonical form of a policy: what remains when order and spelling are gone. Do not name it: write
/// Policy<...>.
template <class StorageType, class ComputeType, class AccumulateType, class ActivationType,
          std::uint32_t UpcastMask, bool UsesFlash, bool Saturates>
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
};

namespace detail {

template <class... Ops>
consteval bool valid_upcast(const Upcast<Ops...>*) {
  static_assert(
      (OpClass<Ops> && ...),
      "Policy: Upcast<...> takes op classes only: Matmul, Conv, Attention, Norm, Softmax, Reduction, Loss, "
      "Pointwise or Position.");
  return (OpClass<Ops> && ...);
}
template <class Option>
consteval bool valid_upcast(const Option*) {
  return true;
}

template <class Mode>
consteval bool valid_overflow(const Overflow<Mode>*) {
  constexpr bool known = std::is_same_v<Mode, Saturate> || std::is_same_v<Mode, Propagate>;
  static_assert(known, "Policy: Overflow<...> takes Saturate or Propagate.");
  return known;
}
template <class Option>
consteval bool valid_overflow(const Option*) {
  return true;
}

template <OptionKind Kind, class... Options>
inline constexpr int times_given = ((option_kind<Options> == Kind ? 1 : 0) + ... + 0);

// Each rule is checked only where those before it hold, so that one mistake gives one sentence.
template <class... Options>
consteval bool known_once() {
  constexpr bool known = ((option_kind<Options> != OptionKind::unknown) && ...);
  static_assert(
      known,
      "Policy: an option is none of Storage<T>, Compute<T>, Accumulate<T>, Activation<T>, Upcast<Op...>, "
      "Flash or Overflow<Saturate>.");
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
    constexpr bool flash_once = times_given<OptionKind::flash, Options...> < 2;
    static_assert(flash_once, "Policy: Flash is given twice.");
    constexpr bool overflow_once = times_given<OptionKind::overflow, Options...> < 2;
    static_assert(overflow_once, "Policy: Overflow<...> is given twice.");
    constexpr bool once = storages == 1 && compute_once && accumulate_once && activation_once &&
                          upcast_once && flash_once && overflow_once;
    if constexpr (once)
      return (valid_upcast(static_cast<const Options*>(nullptr)) && ...) &&
             (valid_overflow(static_cast<const Options*>(nullptr)) && ...);
  }
  return false;
}

template <class S, class C, class A, class R, bool UsesFlash>
consteval bool consistent() {
  static_assert(is_resting<S>,
                "Policy: Storage<T> needs a dtype that memory can hold; tf32 is a format of operands only.");
  static_assert(ScalarDtype<C>,
                "Policy: Compute<T> needs a scalar dtype: block dtypes are stored, not multiplied.");
  static_assert(ScalarDtype<A>, "Policy: Accumulate<T> needs a scalar dtype.");
  static_assert(
      !ScalarDtype<C> ||
          (ScalarDtype<R> && is_resting<R>),  // by default Activation is Compute: one mistake, one sentence
      "Policy: Activation<T> needs a scalar dtype that memory can hold; tf32 is a format of operands only.");
  if constexpr (is_resting<S> && ScalarDtype<C> && ScalarDtype<A> && ScalarDtype<R> && is_resting<R>) {
    static_assert(
        widens_exactly<A, C>,
        "Policy: Accumulate<T> contradicts Compute<T>: a sum cannot be narrower than what it adds.");
    static_assert(!UsesFlash || std::is_same_v<A, f32>,
                  "Policy: Flash contradicts Accumulate<T>: an online softmax sums in f32.");
    return widens_exactly<A, C> && (!UsesFlash || std::is_same_v<A, f32>);
  }
  return false;
}

template <class... Options>
consteval auto canonical() {
  if constexpr (known_once<Options...>()) {
    using Set = OptionSet<Options...>;
    constexpr const Set* set = nullptr;
    using S = decltype(pick_storage<NoStorage>(set));
    using C = decltype(pick_compute<std::conditional_t<BlockDtype<S>, bf16, S>>(set));
    using A = decltype(pick_accumulate<f32>(set));
    using R = decltype(pick_activation<activation_for<C>>(set));
    constexpr bool flash = times_given<OptionKind::flash, Options...> == 1;
    if constexpr (consistent<S, C, A, R, flash>())
      return CanonicalPolicy<S, C, A, R, decltype(pick_upcast(set))::value, flash,
                             std::is_same_v<decltype(pick_overflow(set)), Saturate>>{};
  }
}

}  // namespace detail

/// A precision policy: a set of options in any order. `Policy<Storage<bf16>, Upcast<Attention>>` and its
/// permutations are one type, so a kernel is stamped once. A wrong option is one static_assert sentence.
template <class... Options>
using Policy = decltype(detail::canonical<Options...>());

namespace detail {
template <class T>
inline constexpr bool is_canonical_policy = false;
template <class S, class C, class A, class R, std::uint32_t U, bool F, bool O>
inline constexpr bool is_canonical_policy<CanonicalPolicy<S, C, A, R, U, F, O>> = true;
}  // namespace detail

/// A type made by Policy<...>.
template <class T>
concept PolicyType = detail::is_canonical_policy<T>;

}  // namespace precast
