// Numbers in the names of tensors, and names that nobody reads.
#include <algorithm>
#include <charconv>

#include <weights/component_facts.hpp>

namespace precast::weights {

std::int64_t number_after(std::string_view name, std::string_view stem, std::int64_t most) {
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

}  // namespace precast::weights
