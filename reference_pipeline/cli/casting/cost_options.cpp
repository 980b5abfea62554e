#include <algorithm>
#include <set>
#include <string_view>

#include <casting/type_names.hpp>
#include <cli/casting/cost_options.hpp>
#include <cli/options/arguments.hpp>

#include <precast/dtype/blocks/block_formats.hpp>

namespace precast::cli {

std::vector<std::string> parse_types(const std::string& text) {
  std::vector<std::string_view> names;
  for (const casting::CastType& type : casting::cast_types()) names.push_back(type.name);
  std::vector<std::string> types;
  for (std::string part : parse_list("--types", text)) {
    if (const auto known = casting::find_type(part))
      part = known->name;
    else
      for (char& c : part)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const std::string type = parse_name("--types", part, names);
    if (std::ranges::find(types, type) == types.end()) types.push_back(type);
  }
  return types;
}

std::string usual_types(bool (*holds)(std::string_view block_format)) {
  std::string types;
  for (const std::string_view type :
       {"q8_0", "fp8_e4m3", "q6_k", "q5_1", "q5_k", "q4_1", "q4_k", "q4_0", "q3_k", "q2_k"})
    if (!visit_block_format(type, [](auto) {}) || holds(type))
      types.append(types.empty() ? "" : ",").append(type);
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

}  // namespace precast::cli
