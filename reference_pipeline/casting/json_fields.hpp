// Fields of JSON objects in casting's files, with messages that say where in the file they stand.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <precast/error.hpp>

namespace precast::casting {

/// The text of a file that Precast wrote, as JSON. `wanted` says which it is: "a plan (precast plan)". Throws
/// InputError as io::parse_json does; for text of another kind, such as CSV, it says that one is wanted.
nlohmann::json parse_own_json(std::string_view text, const std::filesystem::path& path,
                              const std::string& wanted);

/// What is done with a number that is not finite.
enum class NotFinite : std::uint8_t { refused, taken };

/// An object somewhere in a file, read key by key. Its errors read "PATH: WHERE: key 'x': what is wrong". It
/// refers to the value, which must outlive it.
class JsonFields {
 public:
  /// `where` is "" for the file itself, else "layer 'a': " and the like. Throws InputError for what is no
  /// object.
  JsonFields(const std::filesystem::path& path, std::string where, const nlohmann::json& object);

  /// The value, or null where the key is missing or its value is null.
  const nlohmann::json* find(const char* key) const;

  /// Nothing where the key is missing; an InputError where it is something else.
  std::optional<std::string> text(const char* key) const;
  std::optional<std::int64_t> integer(const char* key, std::int64_t least, std::int64_t most) const;
  /// A number from `least` to `most`, which is finite; where those that are not are taken, also "inf" or
  /// "nan".
  std::optional<double> number(const char* key, double least, double most,
                               NotFinite not_finite = NotFinite::refused) const;

  /// "PATH: WHERE: key 'x': problem".
  InputError error(const char* key, const std::string& problem) const;

 private:
  InputError wrong(const char* key, const std::string& wanted, const nlohmann::json& value) const;

  const std::filesystem::path& path_;
  std::string where_;
  const nlohmann::json& object_;
};

}  // namespace precast::casting
