#include <cmath>
#include <limits>

#include <casting/json_fields.hpp>

#include <precast/io/json_text.hpp>
#include <precast/io/number_text.hpp>

namespace precast::casting {

nlohmann::json parse_own_json(std::string_view text, const std::filesystem::path& path,
                              const std::string& wanted) {
  try {
    return io::parse_json(text, path);
  } catch (const InputError&) {
    constexpr std::string_view before_json = " \t\r\n\xEF\xBB\xBF";  // spaces, and a mark of UTF-8
    const std::size_t first = text.find_first_not_of(before_json);
    if (first == text.npos || text[first] == '{' || text[first] == '[') throw;
    throw io::file_error(path, "is no JSON: give " + wanted);
  }
}

JsonFields::JsonFields(const std::filesystem::path& path, std::string where, const nlohmann::json& object)
    : path_(path), where_(std::move(where)), object_(object) {
  if (!object.is_object())
    throw io::file_error(path, where_ + "must be a JSON object, not " + io::json_in_words(object) +
                                   ": check that it is the right file");
}

const nlohmann::json* JsonFields::find(const char* key) const {
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<std::string> JsonFields::text(const char* key) const {
  const nlohmann::json* value = find(key);
  if (!value) return std::nullopt;
  if (!value->is_string()) throw wrong(key, "must be a string", *value);
  return value->get<std::string>();
}

std::optional<std::int64_t> JsonFields::integer(const char* key, std::int64_t least,
                                                std::int64_t most) const {
  const nlohmann::json* value = find(key);
  if (!value) return std::nullopt;
  const std::string wanted =
      "must be an integer from " + std::to_string(least) + " to " + std::to_string(most);
  // nlohmann stores what is above int64 as unsigned, and get<int64> would wrap it.
  const bool fits = value->is_number_integer() &&
                    (!value->is_number_unsigned() ||
                     value->get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<std::int64_t>::max()});
  if (!fits) throw wrong(key, wanted, *value);
  const auto result = value->get<std::int64_t>();
  if (result < least || result > most) throw wrong(key, wanted, *value);
  return result;
}

std::optional<double> JsonFields::number(const char* key, double least, double most,
                                         NotFinite not_finite) const {
  const bool takes_all = not_finite == NotFinite::taken;
  const nlohmann::json* value = find(key);
  if (!value) return std::nullopt;
  if (takes_all && *value == "inf") return std::numeric_limits<double>::infinity();
  if (takes_all && *value == "nan") return std::numeric_limits<double>::quiet_NaN();
  const double result = value->is_number() ? value->get<double>() : std::numeric_limits<double>::quiet_NaN();
  if (std::isfinite(result) && result >= least && result <= most) return result;
  const bool any = most == std::numeric_limits<double>::max();
  throw wrong(key,
              "must be a number " +
                  (any ? "of at least " + io::shortest(least)
                       : "from " + io::shortest(least) + " to " + io::shortest(most)) +
                  (takes_all ? ", \"inf\" or \"nan\"" : ""),
              *value);
}

InputError JsonFields::error(const char* key, const std::string& problem) const {
  return io::file_error(path_, where_ + "key '" + key + "': " + problem);
}

InputError JsonFields::wrong(const char* key, const std::string& wanted, const nlohmann::json& value) const {
  return error(key, wanted + ", not " + io::json_in_words(value) + ": correct it");
}

}  // namespace precast::casting
