// Config: typed, range-checked reading of a JSON object in a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <precast/io/joined.hpp>
#include <precast/io/json_text.hpp>

namespace precast::io {

/// Whether a number that is not finite, which json_number() writes as a text, is accepted.
enum class NotFinite : std::uint8_t { refused, taken };

/// A JSON object in a file. Getters throw InputError that reads "PATH: key 'outer.list[0].x': what is wrong:
/// what to do". A key whose value is null counts as absent. Getters that end in `_or` return their fallback
/// for an absent key, and `optional_` ones nothing; they still throw for a present one of the wrong type or
/// range. Copies, and objects taken from one, share its values, which live as long as any of them.
class Config {
 public:
  /// Reads a file. Throws InputError where it is missing, malformed, or not an object.
  static Config load(const std::filesystem::path& path) { return {path, load_json(path)}; }

  /// The text of a file that Precast itself wrote. `wanted` says which it is: "a plan (precast plan)". Throws
  /// InputError as load() does; for text of another kind, such as CSV, it says that one is wanted.
  static Config of_own(std::string_view text, const std::filesystem::path& path, const std::string& wanted) {
    nlohmann::json json;
    try {
      json = parse_json(text, path);
    } catch (const InputError&) {
      constexpr std::string_view before_json = " \t\r\n\xEF\xBB\xBF";  // spaces, and a mark of UTF-8
      const std::size_t first = text.find_first_not_of(before_json);
      if (first == text.npos || text[first] == '{' || text[first] == '[') throw;
      throw file_error(path, "is not JSON: give " + wanted);
    }
    return Config(File{path, "", "check that this is " + wanted, std::move(json)});
  }

  /// The text of a part of a file that is no JSON itself; `part` is its name in messages: "header".
  static Config of_part(std::string_view text, const std::filesystem::path& path, const std::string& part) {
    return Config(File{path, part + ": ", "get the file again", parse_json(text, path, part)});
  }

  /// A config that is already parsed; `path` is for messages.
  Config(std::filesystem::path path, nlohmann::json object)
      : Config(File{std::move(path), "", "get the file again, or check that it belongs to this kind of model",
                    std::move(object)}) {}

  const std::filesystem::path& path() const { return file_->path; }
  const nlohmann::json& json() const { return *object_; }
  /// Whether the key is there with a value other than null.
  bool has(std::string_view key) const { return lookup(key) != nullptr; }
  /// Whether the key is there with a list.
  bool has_list(std::string_view key) const { return has(key) && lookup(key)->is_array(); }
  /// Whether the key is there with null.
  bool is_null(std::string_view key) const {
    const auto found = object_->find(std::string(key));
    return found != object_->end() && found->is_null();
  }
  /// Throws InputError where one of these keys, which may be left out, is null. Elsewhere null counts as
  /// absent, which is right for keys whose default is null: the Python programs that configs are written
  /// for stop at any other.
  void refuse_null(std::initializer_list<const char*> keys) const {
    for (const char* key : keys)
      if (is_null(key))
        throw error(key,
                    "is null, where a value is needed: write the model's value, or remove the key to get the "
                    "default");
  }

  /// The value of a key, of any type.
  const nlohmann::json& value(std::string_view key) const {
    if (const nlohmann::json* found = lookup(key)) return *found;
    throw error(key, (is_null(key) ? "is null: " : "is missing: ") + file_->advice);
  }

  std::int64_t integer(std::string_view key, std::int64_t least, std::int64_t most) const {
    return as_integer(key, value(key), least, most);
  }
  std::int64_t integer_or(std::string_view key, std::int64_t fallback, std::int64_t least,
                          std::int64_t most) const {
    return has(key) ? integer(key, least, most) : fallback;
  }
  std::optional<std::int64_t> optional_integer(std::string_view key, std::int64_t least,
                                               std::int64_t most) const {
    return has(key) ? std::optional(integer(key, least, most)) : std::nullopt;
  }

  double number(std::string_view key, double least, double most,
                NotFinite not_finite = NotFinite::refused) const {
    return as_number(key, value(key), least, most, not_finite);
  }
  double number_or(std::string_view key, double fallback, double least, double most) const {
    return has(key) ? number(key, least, most) : fallback;
  }
  std::optional<double> optional_number(std::string_view key, double least, double most,
                                        NotFinite not_finite = NotFinite::refused) const {
    return has(key) ? std::optional(number(key, least, most, not_finite)) : std::nullopt;
  }

  bool boolean(std::string_view key) const {
    const nlohmann::json& found = value(key);
    if (!found.is_boolean()) throw wrong(key, "must be true or false", found);
    return found.get<bool>();
  }
  /// Unlike elsewhere, null is a value: false, as it is to the Python programs that configs are written for.
  bool boolean_or(std::string_view key, bool fallback) const {
    return has(key) ? boolean(key) : fallback && !is_null(key);
  }

  std::string string(std::string_view key) const { return as_string(key, value(key)); }
  std::string string_or(std::string_view key, std::string fallback) const {
    return has(key) ? string(key) : std::move(fallback);
  }
  std::optional<std::string> optional_string(std::string_view key) const {
    return has(key) ? std::optional(string(key)) : std::nullopt;
  }

  /// A string that is one of these words, as the value beside it. `advice` ends the message for another.
  template <class Value>
  Value one_of_or(std::string_view key, Value fallback,
                  std::initializer_list<std::pair<const char*, std::type_identity_t<Value>>> words,
                  const std::string& advice = "correct it") const {
    if (!has(key)) return fallback;
    const std::string given = string(key);
    for (const auto& [word, value] : words)
      if (given == word) return value;
    throw error(key, "is '" + printable(given, 40) + "', where " +
                         joined(words, " or ", [](const auto& word) { return word.first; }) +
                         " is expected: " + advice);
  }
  /// Throws InputError where the config names another class of diffusers than `known`. A model's index says
  /// which class counts; the folder of something else may have been given for a component.
  void require_class(const char* known, const std::string& advice) const {
    one_of_or("_class_name", true, {{known, true}}, advice);
  }

  /// The results of `read(place, item)` for the items of a list; `place` is "list[0]", for messages.
  template <class Read>
  auto list(std::string_view key, const Read& read) const {
    const nlohmann::json& items = value(key);
    if (!items.is_array()) throw wrong(key, "must be a list", items);
    std::vector<std::invoke_result_t<Read, const std::string&, const nlohmann::json&>> result;
    for (const nlohmann::json& item : items) {
      const std::string place = std::string(key) + "[" + std::to_string(result.size()) + "]";
      result.push_back(read(place, item));
    }
    return result;
  }
  std::vector<std::int64_t> integers(std::string_view key, std::int64_t least, std::int64_t most) const {
    return list(key, [&](auto& place, auto& item) { return as_integer(place, item, least, most); });
  }
  std::vector<double> numbers(std::string_view key, double least, double most) const {
    return list(key, [&](auto& place, auto& item) { return as_number(place, item, least, most); });
  }
  std::vector<std::string> strings(std::string_view key) const {
    return list(key, [&](auto& place, auto& item) { return as_string(place, item); });
  }
  std::vector<Config> objects(std::string_view key) const {
    return list(key, [&](auto& place, auto& item) { return as_object(place, item); });
  }
  Config object(std::string_view key) const { return as_object(key, value(key)); }

  /// Converts a value within, such as an item of a list; `place` is its name in messages.
  std::int64_t as_integer(std::string_view place, const nlohmann::json& value, std::int64_t least,
                          std::int64_t most) const {
    // nlohmann stores what is above int64 as unsigned, and get<int64> would wrap it.
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() ||
                       value.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
    if (const auto result = fits ? value.get<std::int64_t>() : 0; fits && result >= least && result <= most)
      return result;
    throw wrong(place,
                least == most
                    ? "must be " + std::to_string(least)
                    : "must be an integer from " + std::to_string(least) + " to " + std::to_string(most),
                value);
  }
  double as_number(std::string_view place, const nlohmann::json& value, double least, double most,
                   NotFinite not_finite = NotFinite::refused) const {
    using Limits = std::numeric_limits<double>;
    const bool takes_all = not_finite == NotFinite::taken;
    if (takes_all && value == "inf") return Limits::infinity();
    if (takes_all && value == "nan") return Limits::quiet_NaN();
    const double result = value.is_number() ? value.get<double>() : Limits::quiet_NaN();
    if (result >= least && result <= most) return result;
    throw wrong(place,
                "must be a number " +
                    (most == Limits::max() ? "of at least " + shortest(least)
                                           : "from " + shortest(least) + " to " + shortest(most)) +
                    (takes_all ? ", \"inf\" or \"nan\"" : ""),
                value);
  }
  std::string as_string(std::string_view place, const nlohmann::json& value) const {
    if (!value.is_string()) throw wrong(place, "must be a string", value);
    return value.get<std::string>();
  }
  Config as_object(std::string_view place, const nlohmann::json& value) const {
    if (!value.is_object()) throw wrong(place, "must be an object", value);
    return {*this, place, value};
  }

  /// "PATH: key 'x': problem", for checks that take more than one key.
  FileError error(std::string_view key, const std::string& problem) const {
    return file_error(path(),
                      file_->part + "key '" + printable(prefix_ + std::string(key)) + "': " + problem);
  }
  /// The same for a wrong value: "must be a token, not 3: correct it".
  FileError wrong(std::string_view key, const std::string& wanted, const nlohmann::json& found) const {
    const bool is_text = file_->part.empty();  // which an editor opens
    return error(
        key, wanted + ", not " + json_in_words(found) + (is_text ? ": correct it" : ": get the file again"));
  }

 private:
  struct File {
    std::filesystem::path path;
    std::string part, advice;  ///< the start of messages, and the advice for a missing key
    nlohmann::json json;
  };

  explicit Config(File file) : file_(std::make_shared<const File>(std::move(file))), object_(&file_->json) {
    if (!object_->is_object())
      throw file_error(path(), file_->part + "must hold a JSON object, not " + json_in_words(*object_) +
                                   ": " + file_->advice);
  }
  Config(const Config& outer, std::string_view place, const nlohmann::json& object)
      : file_(outer.file_), object_(&object), prefix_(outer.prefix_ + std::string(place) + ".") {}

  const nlohmann::json* lookup(std::string_view key) const {
    const auto found = object_->find(std::string(key));
    return found == object_->end() || found->is_null() ? nullptr : &*found;
  }
  std::shared_ptr<const File> file_;  ///< shared with objects within
  const nlohmann::json* object_;
  std::string prefix_;
};

}  // namespace precast::io
