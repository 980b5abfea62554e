// without_unset_keys: a config of diffusers, as diffusers reads it.
#pragma once

#include <string>
#include <utility>

#include <precast/io/config.hpp>

namespace precast::io {

/// A config without the keys that its `_use_default_values` names. Nobody chose their values: diffusers takes
/// the defaults of whoever reads the file for them, whatever stands there.
inline Config without_unset_keys(Config config) {
  constexpr const char* key = "_use_default_values";
  config.refuse_null({key});
  if (!config.has(key)) return config;
  nlohmann::json json = config.json();
  for (const std::string& unset : config.strings(key)) json.erase(unset);
  return {config.path(), std::move(json)};
}

}  // namespace precast::io
