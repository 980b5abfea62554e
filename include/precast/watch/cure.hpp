// Why a value is not finite, and which option of a policy would have kept it so.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include <precast/dtype/scalar.hpp>
#include <precast/watch/observer.hpp>

namespace precast::watch {

/// Why a value is not finite.
enum class Cause : std::uint8_t {
  result,   ///< f32 has a finite value, but it is above the range of the result's dtype, rounded to it too
  inside,   ///< f32 has a finite value that the result's dtype can hold, once rounded: the op overflowed on
            ///< the way to it
  weights,  ///< f32 is not finite either, and weights are stored in a dtype that may not have held them
  input,    ///< f32 is not finite either: what goes in is broken, or too large for any dtype here
};

/// Whether a dtype has a smaller range than bf16, which has f32's, so that files may hold larger numbers.
inline bool ends_early(double largest) { return largest < dtype_traits<bf16>::format.max(); }

inline Cause cause_of(const NonFinite& found) {
  if (!std::isfinite(found.value_in_f32))
    return ends_early(found.storage_max) ? Cause::weights : Cause::input;
  const bool fits = std::fabs(found.value_in_f32) <= found.result_max || found.rounds_to_finite;
  return fits ? Cause::inside : Cause::result;
}

/// What a policy can do about a value that is not finite.
enum class Cure : std::uint8_t {
  none,
  store_f32,         ///< Storage<f32>
  store_bf16,        ///< Storage<bf16>
  upcast_attention,  ///< Upcast<Attention>
  upcast_matmul,     ///< Upcast<Matmul>
  upcast_conv,       ///< Upcast<Conv>
  flash,             ///< Flash
  saturate,          ///< Overflow<Saturate>
  no_downcast,       ///< Downcast<...> without the op class
};

inline Cure cure_for(const NonFinite& found) {
  const OpRecord& record = found.record;
  const Cure wider = ends_early(found.result_max) ? Cure::store_bf16 : Cure::store_f32;
  const auto narrow = [](std::string_view dtype) { return !dtype.empty() && dtype != "f32"; };
  switch (cause_of(found)) {
    case Cause::input:
      return Cure::none;
    case Cause::weights:
      return Cure::store_bf16;
    case Cause::result:
      return wider;
    case Cause::inside:
      break;
  }
  if (record.op == "Attention" && record.dtypes.operand != "f32") return Cure::upcast_attention;
  if (record.op == "Matmul" && record.dtypes.operand != "f32") return Cure::upcast_matmul;
  if (record.op == "Conv" && record.dtypes.operand != "f32") return Cure::upcast_conv;
  if (narrow(record.dtypes.accumulate) || narrow(record.dtypes.inside)) return Cure::no_downcast;
  return wider;
}

/// The option as a policy spells it. A program with other options gives diagnosis() its own function.
inline std::string in_policy(Cure cure) {
  switch (cure) {
    case Cure::store_f32:
      return "Storage<f32>";
    case Cure::store_bf16:
      return "Storage<bf16>";
    case Cure::upcast_attention:
      return "Upcast<Attention>";
    case Cure::upcast_matmul:
      return "Upcast<Matmul>";
    case Cure::upcast_conv:
      return "Upcast<Conv>";
    case Cure::flash:
      return "Flash";
    case Cure::saturate:
      return "Overflow<Saturate>";
    case Cure::no_downcast:
      return "a policy that does not downcast this op class";
    case Cure::none:
      break;
  }
  return {};
}

}  // namespace precast::watch
