#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include <casting/json_fields.hpp>
#include <cli/compare/comparison_part.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/policy_options.hpp>
#include <cli/terminal/output.hpp>
#include <image/metrics.hpp>
#include <image/picture_file.hpp>
#include <text/base64.hpp>

#include <precast/io/json_text.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

constexpr const char* written_by = "check that this is a part that precast compare --shard wrote";
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr double largest_f64 = std::numeric_limits<double>::max();

template <class Value>
Value there(const casting::JsonFields& fields, const char* key, std::optional<Value> value) {
  if (!value) throw fields.error(key, std::string("is missing: ") + written_by);
  return *std::move(value);
}
std::string needed_text(const casting::JsonFields& fields, const char* key) {
  return there(fields, key, fields.text(key));
}
std::int64_t needed_integer(const casting::JsonFields& fields, const char* key, std::int64_t low,
                            std::int64_t high) {
  return there(fields, key, fields.integer(key, low, high));
}
const nlohmann::json& needed_list(const casting::JsonFields& fields, const char* key) {
  const nlohmann::json* const list = fields.find(key);
  if (!list || !list->is_array())
    throw fields.error(key, std::string(list ? "must be a list: " : "is missing: ") + written_by);
  return *list;
}

std::vector<LayerPeak> read_layers(const std::filesystem::path& path, const std::string& where,
                                   const nlohmann::json& list) {
  std::vector<LayerPeak> layers;
  for (const nlohmann::json& value : list) {
    const casting::JsonFields fields(path, where + "layer " + std::to_string(layers.size() + 1) + ": ",
                                     value);
    layers.push_back({needed_text(fields, "path"), needed_text(fields, "function"),
                      there(fields, "max_abs", fields.number("max_abs", 0, largest_f64)),
                      needed_integer(fields, "non_finite", 0, most)});
  }
  return layers;
}

image::Image read_picture(const std::filesystem::path& path, const casting::JsonFields& fields,
                          const ReportFacts& facts) {
  const auto bytes = text::decode_base64(needed_text(fields, "picture"));
  if (!bytes) throw fields.error("picture", std::string("is not base64: ") + written_by);
  image::Image picture = image::decode_image(std::as_bytes(std::span(*bytes)), path).image;
  if (picture.width != facts.width || picture.height != facts.height)
    throw fields.error("picture", "is of " + std::to_string(picture.width) + "x" +
                                      std::to_string(picture.height) + " pixels, and the comparison of " +
                                      std::to_string(facts.width) + "x" + std::to_string(facts.height) +
                                      ": " + written_by);
  return picture;
}

Compared read_row(const std::filesystem::path& path, const std::string& where, const nlohmann::json& value,
                  const ReportFacts& facts) {
  const casting::JsonFields fields(path, where, value);
  Compared row;
  row.name = needed_text(fields, "policy");
  try {
    row.choice = parse_policy(row.name);
  } catch (const Error& unknown) {
    throw fields.error("policy", unknown.what());
  }
  row.seconds = there(fields, "seconds", fields.number("seconds", 0, largest_f64));
  row.peak_bytes = needed_integer(fields, "peak_bytes", 0, most);
  row.non_finite = needed_integer(fields, "non_finite", 0, most);
  row.advice = fields.text("advice").value_or("");
  row.layers = read_layers(path, where, needed_list(fields, "layers"));
  row.picture = read_picture(path, fields, facts);
  return row;
}

}  // namespace

bool are_of_one(const ComparisonPart& a, const ComparisonPart& b) {
  return a.policies == b.policies && a.parameters == b.parameters && a.sampler == b.sampler &&
         a.inputs == b.inputs && a.facts.prompt == b.facts.prompt && a.facts.model == b.facts.model &&
         a.facts.seed == b.facts.seed && a.facts.width == b.facts.width && a.facts.height == b.facts.height &&
         a.facts.steps == b.facts.steps;
}

std::string comparison_part_text(const ComparisonPart& part) {
  Json rows = Json::array();
  for (const Compared& row : part.rows) {
    Json layers = Json::array();
    for (const LayerPeak& layer : row.layers)
      layers.push_back({{"path", layer.path},
                        {"function", layer.function},
                        {"max_abs", layer.max_abs},
                        {"non_finite", layer.non_finite}});
    rows.push_back({{"policy", row.name},
                    {"seconds", row.seconds},
                    {"peak_bytes", row.peak_bytes},
                    {"non_finite", row.non_finite},
                    {"advice", text_or_null(row.advice)},
                    {"layers", layers},
                    {"picture", text::encode_base64(image::encode_image(image::Format::png, row.picture))}});
  }
  return io::indented_json(Json{{"prompt", part.facts.prompt},
                                {"model", part.facts.model},
                                {"device", part.facts.device},
                                {"seed", part.facts.seed},
                                {"width", part.facts.width},
                                {"height", part.facts.height},
                                {"steps", part.facts.steps},
                                {"policies", part.policies},
                                {"parameters", part.parameters},
                                {"sampler", part.sampler},
                                {"inputs", part.inputs},
                                {"rows", rows}}) +
         "\n";
}

ComparisonPart read_comparison_part(const std::filesystem::path& path) {
  return parse_comparison_part(io::MappedFile(path).text(), path);
}

ComparisonPart parse_comparison_part(std::string_view text, const std::filesystem::path& path) {
  const nlohmann::json json =
      casting::parse_own_json(text, path, "a part that precast compare --shard wrote");
  const casting::JsonFields fields(path, "", json);
  ComparisonPart part;
  part.facts.prompt = needed_text(fields, "prompt");
  part.facts.model = needed_text(fields, "model");
  part.facts.device = needed_text(fields, "device");
  const nlohmann::json* const seed = fields.find("seed");
  if (!seed || !seed->is_number_unsigned())
    throw fields.error("seed", std::string("must be an integer from 0 on: ") + written_by);
  part.facts.seed = seed->get<std::uint64_t>();
  part.facts.width = static_cast<int>(needed_integer(fields, "width", 1, image::max_side));
  part.facts.height = static_cast<int>(needed_integer(fields, "height", 1, image::max_side));
  part.facts.steps = static_cast<int>(needed_integer(fields, "steps", 1, std::numeric_limits<int>::max()));
  part.parameters = needed_text(fields, "parameters");
  part.sampler = needed_text(fields, "sampler");
  part.inputs = fields.text("inputs").value_or("");
  for (const nlohmann::json& name : needed_list(fields, "policies")) {
    if (!name.is_string())
      throw fields.error("policies", std::string("must be a list of names: ") + written_by);
    part.policies.push_back(name.get<std::string>());
  }
  for (const nlohmann::json& row : needed_list(fields, "rows"))
    part.rows.push_back(
        read_row(path, "row " + std::to_string(part.rows.size() + 1) + ": ", row, part.facts));
  return part;
}

ComparisonPart merge_parts(std::span<const NamedPart> parts) {
  const NamedPart& first = parts.front();
  ComparisonPart whole = first.part;
  std::vector<std::pair<Compared, std::string>> found;  // with the names of their files
  for (const auto& [name, part] : parts) {
    if (!are_of_one(first.part, part))
      throw InputError(io::shown(first.name) + " and " + io::shown(name) +
                       " are of different comparisons: merge parts that differ in --shard alone");
    for (const Compared& row : part.rows) {
      const auto same = std::ranges::find(found, row.name, [](const auto& one) { return one.first.name; });
      if (same != found.end())
        throw InputError(io::shown(same->second) + " and " + io::shown(name) + " both have " +
                         io::printable(row.name, 40) + ": leave one of them out");
      found.emplace_back(row, name);
    }
    if (part.facts.device.find(whole.facts.device) == std::string::npos &&
        whole.facts.device.find(part.facts.device) == std::string::npos)
      whole.facts.device += ", " + part.facts.device;
  }
  whole.rows.clear();
  std::vector<std::string> missing;
  for (const std::string& policy : whole.policies) {
    const auto place = std::ranges::find(found, policy, [](const auto& one) { return one.first.name; });
    if (place == found.end())
      missing.push_back(io::printable(policy, 40));
    else
      whole.rows.push_back(place->first);
  }
  if (!missing.empty() || whole.rows.empty())
    throw InputError("--merge: no file has " + (missing.empty() ? "a policy" : listed(missing)) +
                     ": merge all parts, and run again those that were interrupted");
  for (Compared& row : whole.rows) set_distance(whole.rows.front(), row);
  return whole;
}

void set_distance(const Compared& reference, Compared& row) {
  const image::Difference difference = image::difference(reference.picture, row.picture);
  row.psnr = difference.psnr;
  row.mse = difference.mse;
}

}  // namespace precast::cli
