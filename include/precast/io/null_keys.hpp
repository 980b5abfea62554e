// refuse_null: keys of a config that may be left out, but not be null.
#pragma once

#include <initializer_list>

#include <precast/io/config.hpp>

namespace precast::io {

/// Throws InputError that names the file and the key where one of these keys stands there with null.
/// Elsewhere null counts as absent, which is right for keys that null is the default of: the Python programs
/// that configs are written for stop at any other.
inline void refuse_null(const Config& config, std::initializer_list<const char*> keys) {
  for (const char* key : keys)
    if (config.json().contains(key) && !config.has(key))
      throw config.error(
          key,
          "is null, where a value is needed: write the model's own, or take the key away, which "
          "stands for its default");
}

}  // namespace precast::io
