// Config: typed, range-checked reading of a JSON config file.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <precast/io/json_text.hpp>

namespace precast::io {

/// A JSON object in a file. Getters throw InputError that reads "PATH: key 'x': what is wrong: what to do". A
/// key whose value is null counts as absent. Getters that end in `_or` return their fallback for an absent
/// key; they still throw for a present one of the wrong type or range.
class Config {
 public:
  /// Reads a file. Throws InputError where it is missing, malformed, or not an object.
  static Config load(const std::filesystem::path& path) { return Config(path, "", load_json(path)); }

  /// A config that is already parsed; `path` is for messages.
  Config(std::filesystem::path path, nlohmann::json object)
      : Config(std::move(path), "", std::move(object)) {}

  const std::filesystem::path& path() const { return path_; }
  const nlohmann::json& json() const { return object_; }
  /// Whether the key is there with a value other than null.
  bool has(std::string_view key) const { return lookup(key) != nullptr; }

  std::int64_t integer(std::string_view key, std::int64_t least, std::int64_t most) const {
    return as_integer(key, require(key), least, most);
  }
  std::int64_t integer_or(std::string_view key, std::int64_t fallback, std::int64_t least,
                          std::int64_t most) const {
    return has(key) ? integer(key, least, most) : fallback;
  }
  std::optional<std::int64_t> optional_integer(std::string_view key, std::int64_t least,
                                               std::int64_t most) const {
    return has(key) ? std::optional(integer(key, least, most)) : std::nullopt;
  }

  double number(std::string_view key, double least, double most) const {
    const nlohmann::json& value = require(key);
    const double result = value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (!(result >= least && result <= most))
      throw wrong(key, "must be a number from " + text(least) + " to " + text(most), value);
    return result;
  }
  double number_or(std::string_view key, double fallback, double least, double most) const {
    return has(key) ? number(key, least, most) : fallback;
  }

  bool boolean(std::string_view key) const {
    const nlohmann::json& value = require(key);
    if (!value.is_boolean()) throw wrong(key, "must be true or false", value);
    return value.get<bool>();
  }
  /// Unlike elsewhere, null is a value: false, as it is to the Python programs that configs are written for.
  bool boolean_or(std::string_view key, bool fallback) const {
    if (has(key)) return boolean(key);
    return !object_.contains(std::string(key)) && fallback;
  }

  std::string string(std::string_view key) const {
    const nlohmann::json& value = require(key);
    if (!value.is_string()) throw wrong(key, "must be a string", value);
    return value.get<std::string>();
  }
  std::string string_or(std::string_view key, std::string fallback) const {
    return has(key) ? string(key) : std::move(fallback);
  }
  /// Throws InputError where the config names another class of diffusers than `known`. A model's index says
  /// which class counts; the folder of something else may have been given for a component.
  void require_class(std::string_view known, const std::string& advice) const {
    if (const std::string name = string_or("_class_name", std::string(known)); name != known)
      throw error("_class_name",
                  "is '" + printable(name, 40) + "', where " + std::string(known) + " is wanted: " + advice);
  }

  /// A list of integers, with between `fewest` and 4096 of them.
  std::vector<std::int64_t> integers(std::string_view key, std::int64_t least, std::int64_t most,
                                     std::size_t fewest = 1) const {
    std::vector<std::int64_t> result;
    for (const nlohmann::json& item : list(key, fewest)) result.push_back(as_integer(key, item, least, most));
    return result;
  }

  /// A list of strings, with between `fewest` and 4096 of them.
  std::vector<std::string> strings(std::string_view key, std::size_t fewest = 1) const {
    std::vector<std::string> result;
    for (const nlohmann::json& item : list(key, fewest)) {
      if (!item.is_string()) throw wrong(key, "must be a list of strings", item);
      result.push_back(item.get<std::string>());
    }
    return result;
  }

  /// The object under a key, as a config whose messages say "key 'outer.inner'".
  Config object(std::string_view key) const {
    const nlohmann::json& value = require(key);
    if (!value.is_object()) throw wrong(key, "must be an object", value);
    return Config(path_, prefix_ + std::string(key) + ".", value);
  }

  /// "PATH: key 'x': problem", for checks that take more than one key.
  InputError error(std::string_view key, const std::string& problem) const {
    return file_error(path_, "key '" + printable(prefix_ + std::string(key)) + "': " + problem);
  }

 private:
  static constexpr std::size_t longest_list = 4096;

  Config(std::filesystem::path path, std::string prefix, nlohmann::json object)
      : path_(std::move(path)), prefix_(std::move(prefix)), object_(std::move(object)) {
    if (!object_.is_object())
      throw file_error(path_,
                       "must hold a JSON object, not " + json_in_words(object_) + ": get the file anew");
  }

  const nlohmann::json* lookup(std::string_view key) const {
    const auto found = object_.find(std::string(key));
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  const nlohmann::json& require(std::string_view key) const {
    if (const nlohmann::json* value = lookup(key)) return *value;
    throw error(key, "is missing: get the file anew, or check that it belongs to this kind of model");
  }
  const nlohmann::json& list(std::string_view key, std::size_t fewest) const {
    const nlohmann::json& value = require(key);
    if (!value.is_array()) throw wrong(key, "must be a list", value);
    if (value.size() < fewest || value.size() > longest_list)
      throw error(key, "has " + std::to_string(value.size()) + " items, where " + std::to_string(fewest) +
                           " to " + std::to_string(longest_list) + " make sense: correct it");
    return value;
  }
  std::int64_t as_integer(std::string_view key, const nlohmann::json& value, std::int64_t least,
                          std::int64_t most) const {
    const std::string wanted =
        least == most ? "must be " + std::to_string(least)
                      : "must be an integer from " + std::to_string(least) + " to " + std::to_string(most);
    // nlohmann stores what is above int64 as unsigned, and get<int64> would wrap it.
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() ||
                       value.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
    if (!fits) throw wrong(key, wanted, value);
    const auto result = value.get<std::int64_t>();
    if (result < least || result > most) throw wrong(key, wanted, value);
    return result;
  }
  InputError wrong(std::string_view key, const std::string& wanted, const nlohmann::json& value) const {
    return error(key, wanted + ", not " + json_in_words(value) + ": correct it");
  }
  static std::string text(double value) { return nlohmann::json(value).dump(); }

  std::filesystem::path path_;
  std::string prefix_;
  nlohmann::json object_;
};

}  // namespace precast::io
