// JSON from files that may be broken or hostile: size, depth and duplicates are checked before anything is
// believed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <precast/io/mapped_file.hpp>
#include <precast/io/memory_reserve.hpp>
#include <precast/io/message.hpp>

namespace precast::io {

/// The deepest nesting that a JSON file may have: nlohmann's dump and comparison recurse once a level.
inline constexpr int deepest_json = 64;
/// The largest JSON file that is read: real tokenizers take a few MB.
inline constexpr std::size_t largest_json_file = std::size_t{64} << 20;

/// JSON text (UTF-8) as a value. `path` is for messages, `part` names the part of the file ("header"), or is
/// empty. Throws InputError for malformed text, nesting deeper than `deepest_json`, and keys that stand twice
/// in an object.
inline nlohmann::json parse_json(std::string_view text, const std::filesystem::path& path,
                                 const std::string& part = "") {
  using Event = nlohmann::json::parse_event_t;
  const std::string where = part.empty() ? "" : part + ": ";
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int depth, Event event, nlohmann::json& value) {
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= deepest_json)
        throw file_error(path, where + "JSON nested deeper than " + std::to_string(deepest_json) +
                                   " levels: this is not a file that a model comes with");
      keys.emplace_back();
    } else if (event == Event::object_end || event == Event::array_end) {
      keys.pop_back();
    } else if (event == Event::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys.back().insert(key).second)
        throw file_error(path, where + "key '" + printable(key) + "' stands there twice: get the file anew");
    }
    return true;
  };
  const auto invalid = [&](std::size_t byte) {
    return file_error(path, where + "not valid JSON, at byte " + std::to_string(byte) + " of " +
                                std::to_string(text.size()) + ": get the file anew");
  };
  // nlohmann takes NUL for the end of the text, and would not look at what follows.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) throw invalid(nul + 1);
  // What nlohmann's destructor puts aside: 16 bytes a value, of at least two bytes of text each, in a vector
  // that may just be moving; and the 1 MiB by which glibc's heap grows where it cannot go on in place.
  const MemoryReserve for_unwinding((std::size_t{2} << 20) + 12 * text.size());
  try {
    return nlohmann::json::parse(text.begin(), text.end(), check);
  } catch (const nlohmann::json::parse_error& error) {
    throw invalid(error.byte);
  } catch (const nlohmann::json::exception&) {
    throw file_error(path, where + "JSON with a number that is out of range: get the file anew");
  }
}

/// A whole file as a JSON value. Throws InputError, also for files above `largest_json_file`.
inline nlohmann::json load_json(const std::filesystem::path& path) {
  const MappedFile file(path);
  if (file.bytes().size() > largest_json_file)
    throw file_error(path, std::to_string(file.bytes().size() >> 20) +
                               " MB is too much for a JSON file: check that it is the right one");
  return parse_json(file.text(), path);
}

/// A value as it can stand in a message: its JSON text, cut where it is long.
inline std::string json_in_words(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return printable(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), 40);
}

}  // namespace precast::io
