// Which component an op belongs to, by its path.
#pragma once

#include <string_view>

namespace precast::cli {

/// What the paths of a refiner's ops begin with, which has the policies of the base.
inline constexpr std::string_view of_refiner = "refiner.";

/// The component that an op's path begins with: "unet", a refiner's "refiner.unet".
inline std::string_view component_of(std::string_view path) {
  return path.substr(0, path.find('.', path.starts_with(of_refiner) ? of_refiner.size() : 0));
}
/// The component of the base that has the same policy: "unet" for both.
inline std::string_view component_of_base(std::string_view path) {
  if (path.starts_with(of_refiner)) path.remove_prefix(of_refiner.size());
  return component_of(path);
}

}  // namespace precast::cli
