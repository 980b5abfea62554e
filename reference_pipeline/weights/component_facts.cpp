// Numbers in tensor names, notes of unread tensors, and shape checks.
#include <charconv>
#include <vector>

#include <weights/component_facts.hpp>

#include <precast/io/message.hpp>

namespace precast::weights {

std::int64_t number_after(std::string_view name, std::string_view stem) {
  constexpr std::int64_t most = 9999;  // so that no file makes us reserve room for more
  if (!name.starts_with(stem)) return -1;
  name.remove_prefix(stem.size());
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool ends = failed == std::errc{} && end != name.data() + name.size() && *end == '.';
  return ends && number >= 0 && number <= most ? number : -1;
}

std::string unread_note(const std::filesystem::path& file, std::span<const std::string> names) {
  constexpr std::size_t shown = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, names.size()); ++i)
    text += (i ? ", " : "") + ("'" + io::printable(names[i]) + "'");
  if (names.size() > shown) text += " and " + std::to_string(names.size() - shown) + " more";
  return io::shown(file) + ": " + std::to_string(names.size()) +
         (names.size() == 1 ? " tensor is" : " tensors are") + " not read: " + text;
}

Shape required_shape(const PlacedSource& weights, const std::string& name, std::size_t rank, LastOnes ones) {
  const auto shape = weights.shape(name);
  if (!shape) throw weights.error("lacks " + name + ": the file is incomplete, get it again");
  const bool fewer = ones == LastOnes::may_be_missing && shape->rank() > 0 && shape->rank() < rank;
  if (shape->rank() != rank && !fewer)
    throw weights.error(name + " has shape " + to_string(*shape) + ", of which " + std::to_string(rank) +
                        " sizes are expected: get the file again");
  std::vector<std::int64_t> sizes(shape->sizes().begin(), shape->sizes().end());
  sizes.resize(rank, 1);
  return Shape(std::span<const std::int64_t>(sizes));
}

const Agreement& Agreement::same(const std::string& what, std::int64_t in_file,
                                 std::int64_t in_config) const {
  if (in_file != in_config)
    throw weights_.error("has " + what + " " + std::to_string(in_file) + " where " + io::shown(config_) +
                         " says " + std::to_string(in_config) + ": they belong to different models; " +
                         std::string(cure_));
  return *this;
}

}  // namespace precast::weights
