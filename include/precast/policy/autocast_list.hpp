// The vocabulary of the table of PyTorch's autocast: lists, devices and operators.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace precast {

/// What autocast does with the floating-point operands of an operator.
enum class AutocastList : std::uint8_t {
  none,             ///< nothing: the operator runs in the dtype that its operands have
  lower_precision,  ///< casts them to the chosen dtype, f16 or bf16
  fp32,             ///< casts them to f32
  fp32_set_dtype,   ///< asks for an f32 result where the caller names no dtype
  promote,          ///< casts them to the widest among them
  banned,           ///< throws
};

/// The lists by name, in the order in which they are printed.
inline constexpr std::array autocast_lists{AutocastList::lower_precision, AutocastList::fp32,
                                           AutocastList::fp32_set_dtype, AutocastList::promote,
                                           AutocastList::banned};

constexpr std::string_view to_string(AutocastList list) {
  switch (list) {
    case AutocastList::none:
      return "none";
    case AutocastList::lower_precision:
      return "lower_precision";
    case AutocastList::fp32:
      return "f32";
    case AutocastList::fp32_set_dtype:
      return "f32_set_dtype";
    case AutocastList::promote:
      return "promote";
    case AutocastList::banned:
      return "banned";
  }
  return {};
}

/// The devices that the table covers.
enum class AutocastDevice : std::uint8_t { cuda, cpu };

/// An operator of ATen for which PyTorch registers an autocast kernel.
struct AutocastOperator {
  std::string_view name;  ///< with its overload, as the dispatcher has it: "prod.dim_int"
  std::string_view op;    ///< the op class whose row of the op table applies; empty where there is none
  AutocastList cuda, cpu;

  constexpr AutocastList on(AutocastDevice device) const {
    return device == AutocastDevice::cuda ? cuda : cpu;
  }
  /// The name without the overload: "prod".
  constexpr std::string_view base_name() const { return name.substr(0, name.find('.')); }
};

}  // namespace precast
