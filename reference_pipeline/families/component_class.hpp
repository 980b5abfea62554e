// is_class: whether a model's index gives a component a class that is known here.
#pragma once

#include <string>
#include <string_view>

#include <precast/io/json_text.hpp>

namespace precast::families {

/// Whether `named` is `known`. transformers has its tokenizers twice, and calls the second ones fast.
inline bool is_class(const nlohmann::json& named, std::string_view known) {
  return named == known || (known.ends_with("Tokenizer") && named == std::string(known) + "Fast");
}

}  // namespace precast::families
