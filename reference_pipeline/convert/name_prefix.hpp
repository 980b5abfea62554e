// Names of tensors without what files put in front of them.
#pragma once

#include <string_view>

#include <weights/layouts.hpp>

namespace precast::conversion {

/// A name without what checkpoints put in front of a transformer's ("model.diffusion_model." and its kin) and
/// of T5's ("text_encoders.t5xxl.transformer.").
inline std::string_view without_prefix(std::string_view name) {
  using weights::Part;
  const std::string_view of_t5 = weights::without_prefix(name, Part::t5);
  return of_t5.size() < name.size() ? of_t5 : weights::without_prefix(name, Part::transformer);
}

}  // namespace precast::conversion
