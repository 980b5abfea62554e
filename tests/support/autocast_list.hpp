// Looks an operator up in the table of autocast's lists.
#pragma once

#include <string_view>

#include <precast/policy/autocast.hpp>

namespace precast::testing {

/// The autocast list of an operator: of one overload, "prod.dim_int", or of all that are registered,
/// "prod".
constexpr AutocastList autocast_list_of(std::string_view name, AutocastDevice device) {
  const bool of_overload = name.find('.') != std::string_view::npos;
  for (const AutocastOperator& known : autocast_operators)
    if ((of_overload ? known.name : known.base_name()) == name && known.on(device) != AutocastList::none)
      return known.on(device);
  return AutocastList::none;
}

}  // namespace precast::testing
