#include <algorithm>
#include <array>
#include <type_traits>

#include <casting/type_names.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/io/joined.hpp>

namespace precast::casting {

namespace {

/// What has blocks of 32 values, by rising size: each is better than those before it.
constexpr std::array<std::string_view, 4> stand_ins{"iq4_nl", "q5_0", "q5_1", "q8_0"};

bool is_of_rows(const DtypeInfo& type) {
  const CastType* const known = formats::format_named(type.name);
  return known && known->of_rows;
}

/// Whether files hold a tensor of that shape in a format, whatever its rows are: those that have scales
/// beside it hold matrices, of mxfp8 in whole tiles.
bool is_held(const DtypeInfo& type, const Shape& tensor) {
  const bool in_tiles = type.name == dtype_traits<mxfp8>::name;
  if ((in_tiles || is_of_rows(type)) && tensor.rank() != 2) return false;
  return !in_tiles || tensor[0] % rows_of_mxfp8_tile == 0;
}

}  // namespace

std::optional<DtypeInfo> find_type(std::string_view name) {
  const CastType* const found = formats::format_in_either_case(name);
  return found ? std::optional(found->info) : std::nullopt;
}

std::string known_name(std::string_view name) {
  const CastType* const found = formats::format_in_either_case(name);
  return found ? found->name : std::string(name);
}

bool can_cast_to(std::string_view name, bool (*holds)(std::string_view block_format)) {
  if (!formats::format_named(name)) return false;
  const auto nothing = [](auto) {};
  return (!visit_block_format(name, nothing) && !visit_scaled_row_dtype(name, nothing)) || holds(name);
}

void require_types(const std::string& where, std::span<const std::string> names) {
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (const std::string known = known_name(name); formats::format_named(known) && !can_cast_to(known) &&
                                                    std::ranges::find(missing, known) == missing.end())
      missing.push_back(known);
  if (missing.empty()) return;
  throw PathNotCompiled(where + ": weights in " + io::joined(missing, ", ") +
                        " are not in this build: configure with -DPRECAST_QUANT=\"" +
                        io::joined(missing, ";") +
                        "\" (or a list that holds them, or all, which is the default)");
}

bool was_added(const DtypeInfo& type) {
  return std::ranges::find(formats::added_formats(), type.name, &CastType::name) !=
         formats::added_formats().end();
}

bool divides(const DtypeInfo& type, std::int64_t values) {
  return is_of_rows(type) || values % type.values_per_block == 0;
}

std::optional<DtypeInfo> fitting_type(const DtypeInfo& wanted, const Shape& tensor) {
  if (!is_held(wanted, tensor)) return std::nullopt;
  const std::int64_t columns = tensor.back();
  if (is_of_rows(wanted)) {
    const DtypeInfo any_row = *find_type(wanted.name);
    return columns > 0 && columns < any_row.values_per_block
               ? std::optional(scaled_row_info(any_row.name, columns))
               : std::nullopt;
  }
  if (columns % wanted.values_per_block == 0) return wanted;
  if (was_added(wanted)) return std::nullopt;  // the files that hold it hold none of ggml's blocks
  for (const std::string_view name : stand_ins) {
    const DtypeInfo type = *find_type(name);
    if (bits_per_value(type) >= bits_per_value(wanted) && columns % type.values_per_block == 0) return type;
  }
  return std::nullopt;
}

double bits_in_file(const DtypeInfo& type, const Shape& shape) {
  const auto values = static_cast<double>(shape.elements());
  double bits = bits_per_value(type) * values;
  visit_scaled_row_dtype(type.name, [&]<class Format>(std::type_identity<Format>) {
    const double rows = values / type.values_per_block, scales = scale_of<Format> == ScaleOf::row ? rows : 1;
    bits += 8 * (static_cast<double>(sizeof(f32)) * scales - static_cast<double>(row_head_bytes) * rows);
  });
  return bits;
}

std::optional<double> bits_of_type(std::string_view name) {
  const CastType* const found = formats::format_named(name);
  return found ? std::optional(found->bits) : std::nullopt;
}

std::string type_list() { return io::joined(cast_types(), ", ", &CastType::name); }

}  // namespace precast::casting
