#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include <cli/compare/comparison_part.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/policy_options.hpp>
#include <cli/terminal/output.hpp>
#include <image/metrics.hpp>
#include <image/picture_file.hpp>
#include <text/base64.hpp>

#include <precast/io/config.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

constexpr const char* written = "a part that precast compare --shard wrote";
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
constexpr double largest_f64 = std::numeric_limits<double>::max();

image::Image read_picture(const io::Config& json, const ReportFacts& facts) {
  const std::string advice = std::string(": check that this is ") + written;
  const auto bytes = text::decode_base64(json.string("picture"));
  if (!bytes) throw json.error("picture", "is not base64" + advice);
  image::Image picture = image::decode_image(std::as_bytes(std::span(*bytes)), json.path()).image;
  if (picture.width != facts.width || picture.height != facts.height)
    throw json.error("picture", "is of " + std::to_string(picture.width) + "x" +
                                    std::to_string(picture.height) + " pixels, and the comparison of " +
                                    std::to_string(facts.width) + "x" + std::to_string(facts.height) +
                                    advice);
  return picture;
}

Compared read_row(const io::Config& json, const ReportFacts& facts) {
  Compared row;
  row.name = json.string("policy");
  try {
    row.choice = parse_policy(row.name);
  } catch (const Error& unknown) {
    throw json.error("policy", unknown.what());
  }
  row.seconds = json.number("seconds", 0, largest_f64);
  row.peak_bytes = json.integer("peak_bytes", 0, most);
  row.non_finite = json.integer("non_finite", 0, most);
  row.advice = json.string_or("advice", "");
  for (const io::Config& layer : json.objects("layers"))
    row.layers.push_back({layer.string("path"), layer.string("function"),
                          layer.number("max_abs", 0, largest_f64), layer.integer("non_finite", 0, most)});
  row.picture = read_picture(json, facts);
  return row;
}

}  // namespace

bool same_comparison(const ComparisonPart& a, const ComparisonPart& b) {
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
  const io::Config json = io::Config::of_own(text, path, written);
  ComparisonPart part;
  part.facts.prompt = json.string("prompt");
  part.facts.model = json.string("model");
  part.facts.device = json.string("device");
  const nlohmann::json& seed = json.value("seed");
  if (!seed.is_number_unsigned()) throw json.wrong("seed", "must be an integer of 0 or more", seed);
  part.facts.seed = seed.get<std::uint64_t>();
  part.facts.width = static_cast<int>(json.integer("width", 1, image::max_side));
  part.facts.height = static_cast<int>(json.integer("height", 1, image::max_side));
  part.facts.steps = static_cast<int>(json.integer("steps", 1, std::numeric_limits<int>::max()));
  part.parameters = json.string("parameters");
  part.sampler = json.string("sampler");
  part.inputs = json.string_or("inputs", "");
  part.policies = json.strings("policies");
  for (const io::Config& row : json.objects("rows")) part.rows.push_back(read_row(row, part.facts));
  return part;
}

ComparisonPart merge_parts(std::span<const NamedPart> parts) {
  const NamedPart& first = parts.front();
  ComparisonPart whole = first.part;
  std::vector<std::pair<Compared, std::string>> found;  // with the names of their files
  for (const auto& [name, part] : parts) {
    if (!same_comparison(first.part, part))
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
