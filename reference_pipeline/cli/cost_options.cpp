#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include <casting/type_names.hpp>
#include <cli/arguments.hpp>
#include <cli/cost_options.hpp>
#include <cluster/launch.hpp>

#include <precast/io/message.hpp>

namespace precast::cli {

std::vector<std::string> parse_types(const std::string& text) {
  std::vector<std::string_view> names;
  for (const casting::CastType& type : casting::cast_types()) names.push_back(type.name);
  std::vector<std::string> types;
  for (std::string part : parse_list("--types", text)) {
    for (char& c : part)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const std::string type = parse_name("--types", part, names);
    if (std::ranges::find(types, type) == types.end()) types.push_back(type);
  }
  return types;
}

std::vector<std::int64_t> parse_layers(const std::string& text, std::int64_t count) {
  std::set<std::int64_t> layers;
  for (const std::string& part : parse_list("--layers", text)) {
    const std::size_t dash = part.find('-', 1);
    const std::int64_t first = parse_integer("--layers", part.substr(0, dash), 0, count - 1);
    const std::int64_t last =
        dash == std::string::npos ? first : parse_integer("--layers", part.substr(dash + 1), 0, count - 1);
    if (last < first)
      throw UsageError("--layers: " + part + " runs backwards: the first layer of a range is the smaller");
    for (std::int64_t layer = first; layer <= last; ++layer) layers.insert(layer);
  }
  return {layers.begin(), layers.end()};
}

casting::Shard parse_shard(const std::string& text) {
  if (text == "auto") {
    const cluster::Part part = cluster::part_of_sweep();
    return {part.index, part.count};
  }
  constexpr std::int64_t most = 4096;
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos)
    throw UsageError("--shard is '" + io::printable(text) +
                     "': it must read I/N, such as 2/4, the second of four, or auto");
  const std::int64_t count = parse_integer("--shard", text.substr(slash + 1), 1, most);
  return {parse_integer("--shard", text.substr(0, slash), 1, count) - 1, count};
}

std::string part_file(const std::string& file, const casting::Shard& shard) {
  const std::filesystem::path path(file);
  const std::string name = path.stem().string() + "-" + std::to_string(shard.index + 1) + "-of-" +
                           std::to_string(shard.count) + path.extension().string();
  return (path.parent_path() / name).string();
}

}  // namespace precast::cli
