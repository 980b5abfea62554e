#include <algorithm>
#include <vector>

#include <casting/castable.hpp>
#include <formats/registry.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/io/joined.hpp>

namespace precast::casting {

bool can_cast_to(std::string_view name, bool (*holds)(std::string_view block_format)) {
  if (!formats::format_named(name)) return false;
  const auto nothing = [](auto) {};
  return (!visit_block_format(name, nothing) && !visit_scaled_row_dtype(name, nothing)) || holds(name);
}

void require_types(const std::string& where, std::span<const std::string> names) {
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (formats::format_named(name) && !can_cast_to(name) &&
        std::ranges::find(missing, name) == missing.end())
      missing.push_back(name);
  if (missing.empty()) return;
  throw PathNotCompiled(where + ": weights in " + io::joined(missing, ", ") +
                        " are not in this build: configure with -DPRECAST_QUANT=\"" +
                        io::joined(missing, ";") +
                        "\" (or a list that holds them, or all, which is the default)");
}

}  // namespace precast::casting
