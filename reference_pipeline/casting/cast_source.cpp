#include <string_view>
#include <type_traits>
#include <utility>

#include <casting/cast_source.hpp>
#include <casting/type_names.hpp>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/io/message.hpp>
#include <precast/nn/parameters.hpp>

namespace precast::casting {

std::vector<f32> values_of(const nn::ParameterSource& source, const families::BlockParameter& parameter) {
  std::vector<f32> values(static_cast<std::size_t>(parameter.shape.elements()));
  const nn::ParameterPath place(source, parameter.name);
  const nn::Parameter found = place.find(parameter.shape);
  if (const formats::StoredFormat* const blocks = formats::format_named(found.dtype.name);
      blocks && !blocks->scalar) {
    blocks->decode(found.bytes, values);
    return values;
  }
  nn::read_values<f32>(place, found, 0, std::span(values));
  return values;
}

namespace {

/// Whether what lies in a dtype is in the type already: rows under scales also where they all have one, which
/// convert moves as they are.
bool is_in(const DtypeInfo& type, std::string_view dtype) {
  if (type.name == dtype) return true;
  bool same_codes = false;
  visit_scaled_row_dtype(type.name, [&]<class Format>(std::type_identity<Format>) {
    visit_scaled_row_dtype(dtype, [&]<class Stored>(std::type_identity<Stored>) {
      same_codes =
          std::is_same_v<scaled_code_of<Format>, scaled_code_of<Stored>> && scale_of<Format> == ScaleOf::row;
    });
  });
  return same_codes;
}

/// A dtype by which bits are counted: of rows under scales, as long as the parameter's are.
DtypeInfo counted(const DtypeInfo& dtype, const families::BlockParameter& parameter) {
  const auto fitting = fitting_type(dtype, parameter.shape);
  return fitting && fitting->name == dtype.name ? *fitting : dtype;
}

}  // namespace

std::vector<f32>& CastSource::take(const families::BlockParameter& parameter,
                                   const nn::ParameterSource& source) {
  auto& [shape, values] = cast_[parameter.name];
  shape = parameter.shape;
  values = values_of(source, parameter);
  return values;
}

DtypeInfo CastSource::cast(const families::BlockParameter& parameter, std::string_view type) {
  const auto wanted = find_type(type);
  if (!wanted)
    throw InputError("'" + io::printable(type) + "' is no format of this build: it has " + type_list());
  const auto fitting = fitting_type(*wanted, parameter.shape);
  // In its own type it stays, too: not every encoder gives its own blocks back, and products of blocks round
  // otherwise than those of values.
  if (!fitting || is_in(*fitting, parameter.dtype.name)) {
    cast_.erase(parameter.name);
    return fitting ? *fitting : counted(parameter.dtype, parameter);
  }
  const std::string taken(fitting->name);
  std::vector<f32>& values = take(parameter, original());
  const formats::StoredFormat& format = *formats::format_named(taken);
  // Allocated by operator new, which aligns them for every block.
  std::vector<std::byte> blocks(values.size() / static_cast<std::size_t>(fitting->values_per_block) *
                                static_cast<std::size_t>(fitting->bytes_per_block));
  try {
    format.encode(values, blocks, {});
  } catch (const InputError& wrong) {
    throw InputError(original().description() + ": tensor '" + io::printable(parameter.name) +
                     "': " + wrong.what());
  }
  format.decode(blocks, values);
  return *fitting;
}

DtypeInfo CastSource::patch(const families::BlockParameter& parameter, const nn::ParameterSource& other) {
  take(parameter, other);
  return counted(other.find(parameter.name).dtype, parameter);
}

nn::Parameter CastSource::find(std::string_view name) const {
  const auto found = cast_.find(name);
  if (found == cast_.end()) return original().find(name);
  return {dtype_info<f32>, found->second.first, std::as_bytes(std::span(found->second.second))};
}

}  // namespace precast::casting
