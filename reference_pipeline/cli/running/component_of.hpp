// Which component an op belongs to, by its path.
#pragma once

#include <string_view>

namespace precast::cli {

/// The path prefix of a refiner's ops; a refiner runs under the base's policies.
inline constexpr std::string_view of_refiner = "refiner.";

/// The component in an op's path: "unet", or "refiner.unet" for a refiner's.
inline std::string_view component_of(std::string_view path) {
  return path.substr(0, path.find('.', path.starts_with(of_refiner) ? of_refiner.size() : 0));
}
/// The base's component with the same policy: "unet" for both.
inline std::string_view component_of_base(std::string_view path) {
  if (path.starts_with(of_refiner)) path.remove_prefix(of_refiner.size());
  return component_of(path);
}

}  // namespace precast::cli
