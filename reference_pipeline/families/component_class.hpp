// Which classes a model's index gives its components, and whether they are known here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <precast/io/config.hpp>

namespace precast::families {

/// The class of a component, which an index lists as [library, class]; nothing where it does not list it,
/// or as [null, null], as where the model was saved without it. Throws InputError for another entry.
inline std::optional<std::string> listed_class(const io::Config& index, std::string_view component) {
  if (!index.has(component)) return std::nullopt;
  const nlohmann::json& entry = index.value(component);
  if (!entry.is_array() || entry.size() != 2 || !(entry[1].is_null() || entry[1].is_string()))
    throw index.error(component, "must name a library and a class: get the file again");
  return entry[1].is_null() ? std::nullopt : std::optional(entry[1].get<std::string>());
}

/// Whether `named` is `known`. transformers has each tokenizer twice, the second with the suffix Fast.
inline bool is_class(std::string_view named, std::string_view known) {
  return named == known || (known.ends_with("Tokenizer") && named == std::string(known) + "Fast");
}

}  // namespace precast::families
