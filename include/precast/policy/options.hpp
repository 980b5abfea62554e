// The options of a policy: the names a user writes between Policy< and >, and how one is found in a set.
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
/// Option: these op classes take f32 operands and keep f32 sums and intermediates, whatever Compute says.
template <class... Ops>
struct Upcast {};
/// Option: these op classes keep sums and intermediates in Compute instead of f32 (tf32 and fp8, which are
/// formats of operands: in the default Activation). This is naive f16, to show what it costs; the
/// counterpart of Upcast.
template <class... Ops>
struct Downcast {};
/// Option: attention is tiled with an online softmax (Dao et al. 2022): scores never reach memory, and are
/// f32.
struct Flash {};
/// Option: what a store does with a value above the range of its format.
template <class Mode>
struct Overflow {};
/// Overflow<Saturate>: stores, and roundings to an operand dtype, clamp to the largest finite value.
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
  downcast,
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
template <class... Ops>
inline constexpr OptionKind option_kind<Downcast<Ops...>> = OptionKind::downcast;
template <>
inline constexpr OptionKind option_kind<Flash> = OptionKind::flash;
template <class Mode>
inline constexpr OptionKind option_kind<Overflow<Mode>> = OptionKind::overflow;

template <class T>
concept OperandsOnly = requires {
  requires dtype_traits<T>::operands_only;
};
template <class T>
inline constexpr bool is_storable = Dtype<T> && !OperandsOnly<T>;

// Overload look-up over inherited options: each pick is one overload resolution, however many options there
// are. Picks are wrapped in type_identity: a function's return type loses const unless it is a class.
template <class... Options>
struct OptionSet : Options... {};
template <class Default, class T>
std::type_identity<T> pick_storage(const Storage<T>*);
template <class Default>
std::type_identity<Default> pick_storage(...);
template <class Default, class T>
std::type_identity<T> pick_compute(const Compute<T>*);
template <class Default>
std::type_identity<Default> pick_compute(...);
template <class Default, class T>
std::type_identity<T> pick_accumulate(const Accumulate<T>*);
template <class Default>
std::type_identity<Default> pick_accumulate(...);
template <class Default, class T>
std::type_identity<T> pick_activation(const Activation<T>*);
template <class Default>
std::type_identity<Default> pick_activation(...);
template <class... Ops>
std::integral_constant<std::uint32_t, (0u | ... | AllOpClasses::bit<Ops>)> pick_upcast(const Upcast<Ops...>*);
std::integral_constant<std::uint32_t, 0> pick_upcast(...);
template <class... Ops>
std::integral_constant<std::uint32_t, (0u | ... | AllOpClasses::bit<Ops>)> pick_downcast(
    const Downcast<Ops...>*);
std::integral_constant<std::uint32_t, 0> pick_downcast(...);
template <class Mode>
Mode pick_overflow(const Overflow<Mode>*);
Propagate pick_overflow(...);

struct NoStorage {};

template <OptionKind Kind, class... Options>
inline constexpr int times_given = ((option_kind<Options> == Kind ? 1 : 0) + ... + 0);

}  // namespace detail

}  // namespace precast
