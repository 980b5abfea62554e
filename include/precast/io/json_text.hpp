// JSON from files that may be broken or hostile: size, depth and duplicates are checked before anything is
// believed.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <precast/io/mapped_file.hpp>
#include <precast/io/memory_reserve.hpp>
#include <precast/io/message.hpp>
#include <precast/io/number_text.hpp>

namespace precast::io {

/// The deepest nesting that a JSON file may have: nlohmann's dump and comparison recurse once a level.
inline constexpr int deepest_json = 64;
/// The largest JSON file that is read: real tokenizers take a few MB.
inline constexpr std::size_t largest_json_file = std::size_t{64} << 20;

namespace detail {

/// Makes a value of JSON as it is read, and throws InputError for what parse_json() refuses as soon as it
/// comes. (nlohmann's own parser takes the last of two keys that are the same, and where it calls back it
/// goes through all that an object has whenever one in it ends.)
class JsonReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  /// The text and the path must outlive it.
  JsonReader(const std::filesystem::path& path, std::string where, std::string_view text)
      : path_(path), where_(std::move(where)), text_(text) {}

  /// What was read, once.
  nlohmann::json take() { return std::move(root_); }

  FileError invalid(std::size_t byte) const {
    const std::size_t bytes = text_.size();
    // Python's json writes and reads these: to get the file anew would not help.
    for (const std::string number : {"NaN", "Infinity"})
      if (byte >= 1 && byte <= bytes && text_.substr(byte - 1).starts_with(number))
        return file_error(path_, where_ + "not valid JSON, which does not allow the number " + number +
                                     " at byte " + std::to_string(byte) + ": write another number, or null");
    const std::string at = byte <= bytes
                               ? ", at byte " + std::to_string(byte) + " of " + std::to_string(bytes)
                           : bytes == 0 ? ", but empty"
                                        : ", because it is cut off after byte " + std::to_string(bytes);
    return file_error(path_, where_ + "not valid JSON" + at + ": get the file again");
  }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(nlohmann::json::binary_t& value) override { return add(std::move(value)); }
  bool start_object(std::size_t) override { return open(nlohmann::json::object()); }
  bool start_array(std::size_t) override { return open(nlohmann::json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& key) override {
    auto& members = open_.back()->get_ref<nlohmann::json::object_t&>();
    const auto [member, is_new] = members.try_emplace(key);
    if (!is_new)
      throw file_error(path_, where_ + "key '" + printable(key) + "' appears twice: get the file again");
    member_ = &member->second;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    // What is thrown is told by its number, for projects without run-time types: 1xx are errors of syntax.
    if (error.id < 200) throw invalid(static_cast<const nlohmann::json::parse_error&>(error).byte);
    throw file_error(path_, where_ + "JSON with a number that is out of range: get the file again");
  }

 private:
  nlohmann::json& placed(nlohmann::json value) {
    if (open_.empty()) return root_ = std::move(value);
    if (open_.back()->is_object()) return *member_ = std::move(value);
    return open_.back()->get_ref<nlohmann::json::array_t&>().emplace_back(std::move(value));
  }
  bool add(nlohmann::json value) {
    placed(std::move(value));
    return true;
  }
  bool open(nlohmann::json value) {
    if (open_.size() >= static_cast<std::size_t>(deepest_json))
      throw file_error(path_, where_ + "JSON nested deeper than " + std::to_string(deepest_json) +
                                  " levels: this is not a file that a model comes with");
    open_.push_back(&placed(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::filesystem::path& path_;
  std::string where_;
  std::string_view text_;
  nlohmann::json root_;
  std::vector<nlohmann::json*> open_;  ///< objects and lists that have not ended, the innermost last
  nlohmann::json* member_ = nullptr;   ///< of the innermost object: what follows its last key
};

}  // namespace detail

/// JSON text (UTF-8) as a value. `path` is for messages, `part` names the part of the file ("header"), or is
/// empty. Throws InputError for malformed text, nesting deeper than `deepest_json`, and keys that stand twice
/// in an object.
inline nlohmann::json parse_json(std::string_view text, const std::filesystem::path& path,
                                 const std::string& part = "") {
  detail::JsonReader reader(path, part.empty() ? "" : part + ": ", text);
  // What nlohmann's destructor puts aside: 16 bytes a value, of at least two bytes of text each, in a vector
  // that may just be moving; and the 1 MiB by which glibc's heap grows where it cannot go on in place. It is
  // given back before the reader ends.
  const MemoryReserve for_unwinding((std::size_t{2} << 20) + 12 * text.size());
  // nlohmann takes NUL for the end of the text, and would not look at what follows.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) throw reader.invalid(nul + 1);
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  return reader.take();
}

/// JSON text with null for these words, which JSON does not have: outside of strings, where Python's json
/// writes NaN, Infinity and -Infinity.
inline std::string with_nulls(std::string_view text, std::initializer_list<std::string_view> words) {
  std::string result;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size();) {
    const auto* const word =
        in_string ? words.end()
                  : std::ranges::find_if(words, [&](auto one) { return text.substr(at).starts_with(one); });
    if (word != words.end()) {
      result += "null";
      at += word->size();
      continue;
    }
    if (text[at] == '"') in_string = !in_string;
    if (in_string && text[at] == '\\' && at + 1 < text.size()) result += text[at++];
    result += text[at++];
  }
  return result;
}

/// The text of a file that is to hold JSON; `what` is its name in messages ("a plan"). Throws InputError for
/// files above `largest_json_file`.
inline std::string_view json_text(const MappedFile& file, const std::string& what) {
  if (file.bytes().size() > largest_json_file)
    throw file_error(file.path(), std::to_string(file.bytes().size() >> 20) + " MB is too much for " + what +
                                      ": check that it is the right one");
  return file.text();
}

/// A whole file as a JSON value. Throws InputError, also for files above `largest_json_file`.
inline nlohmann::json load_json(const std::filesystem::path& path) {
  const MappedFile file(path);
  return parse_json(json_text(file, "a JSON file"), path);
}

/// JSON to write, whose keys stay in the order in which they were given.
using Json = nlohmann::ordered_json;

/// A number, or "inf", "-inf" or "nan": JSON has no such numbers.
inline Json json_number(double value) {
  if (std::isfinite(value)) return value;
  return shortest(value);
}

/// A value as text in one line. Bytes that are no UTF-8 become U+FFFD, where nlohmann's own dump() throws.
template <class AnyJson>
std::string json_line(const AnyJson& value) {
  return value.dump(-1, ' ', false, AnyJson::error_handler_t::replace);
}
/// The same in lines that are indented.
template <class AnyJson>
std::string indented_json(const AnyJson& value) {
  return value.dump(2, ' ', false, AnyJson::error_handler_t::replace);
}

/// A value as it can stand in a message: its JSON text, cut where it is long.
inline std::string json_in_words(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  return printable(json_line(value), 40);
}

}  // namespace precast::io
