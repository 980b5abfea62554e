#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <casting/cast_source.hpp>
#include <formats/encode_in_range.hpp>
#include <formats/fitting.hpp>
#include <formats/registry.hpp>
#include <weights/changed_copy.hpp>
#include <weights/placed_source.hpp>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/io/message.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/nn/parameters.hpp>

namespace precast::casting {

namespace {

/// The values of a parameter that was found in a source.
std::vector<f32> values_found(const nn::ParameterSource& source, const nn::Parameter& found) {
  std::vector<f32> values(static_cast<std::size_t>(found.shape.elements()));
  if (const formats::StoredFormat* const blocks = formats::format_named(found.dtype.name);
      blocks && !blocks->scalar) {
    blocks->decode(found.bytes, values);
    source.taken(found.bytes.size());
  } else {
    nn::read_values<f32>(nn::ParameterPath(source, found.name), found, 0, std::span(values));
  }
  return values;
}

/// Whether values stored as `dtype` are in `type` already; for a type with a scale for each row, also where
/// all rows share one scale, since convert copies their codes as they are.
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

/// The dtype to count bits by: a row-scaled dtype is resolved for the parameter's row length.
DtypeInfo counted(const DtypeInfo& dtype, const families::BlockParameter& parameter) {
  const auto fitting = formats::fitting_type(dtype, parameter.shape);
  return fitting && fitting->name == dtype.name ? *fitting : dtype;
}

/// The dtype that a parameter of this shape is cast to for `type`; nothing where none fits.
std::optional<DtypeInfo> cast_type(std::string_view type, const Shape& shape) {
  const auto wanted = formats::find_type(type);
  if (!wanted)
    throw InputError("'" + io::printable(type) + "' is not a format of this build: it has " +
                     formats::format_list());
  return formats::fitting_type(*wanted, shape);
}

/// A parameter of a source, encoded to `type` by `encode(format, values, bytes)`.
template <class Encode>
nn::Parameter encoded(const nn::ParameterSource& source, const nn::Parameter& found, const DtypeInfo& type,
                      Encode&& encode) {
  const formats::StoredFormat& format = *formats::format_named(type.name);
  const std::int64_t count = found.shape.elements();
  std::vector<f32> values;
  const DryHold as_f32(count * std::int64_t{sizeof(f32)});
  if (DryRun::active())
    source.taken(found.bytes.size());
  else
    values = values_found(source, found);
  nn::Parameter cast = found;
  cast.dtype = type;
  return weights::with_own_bytes(
      std::move(cast), static_cast<std::size_t>(count / type.values_per_block * type.bytes_per_block),
      [&](std::span<std::byte> blocks) {
        try {
          encode(format, std::span<const f32>(values), blocks);
        } catch (const InputError& wrong) {
          throw InputError(source.description() + ": tensor '" + io::printable(found.name) +
                           "': " + wrong.what());
        }
      });
}

}  // namespace

std::vector<f32> values_of(const nn::ParameterSource& source, const families::BlockParameter& parameter) {
  return values_found(source, nn::ParameterPath(source, parameter.name).find(parameter.shape));
}

std::optional<nn::Parameter> cast_as_stored(const nn::ParameterSource& source, const nn::Parameter& found,
                                            std::string_view type) {
  const auto fitting = cast_type(type, found.shape);
  if (!fitting || is_in(*fitting, found.dtype.name)) return std::nullopt;
  nn::Parameter cast = encoded(
      source, found, *fitting,
      [](const formats::StoredFormat& format, std::span<const f32> values, std::span<std::byte> blocks) {
        if (!formats::encode_in_range(format, values, blocks, {}))
          throw InputError("has values beyond what " + format.name +
                           " holds: plan another format for its layer");
      });
  return formats::is_added(*fitting) ? weights::decoded(std::move(cast)) : cast;
}

DtypeInfo CastSource::cast(const families::BlockParameter& parameter, std::string_view type) {
  const auto fitting = cast_type(type, parameter.shape);
  // A parameter already in the type stays, too: not every encoder reproduces its own blocks, and products
  // of blocks round differently from those of values.
  if (!fitting || is_in(*fitting, parameter.dtype.name)) {
    cast_.erase(parameter.name);
    return fitting ? *fitting : counted(parameter.dtype, parameter);
  }
  // The error of values out of the format's range is part of the cost of casting to it.
  const nn::Parameter blocks =
      encoded(original(), nn::ParameterPath(original(), parameter.name).find(parameter.shape), *fitting,
              [](const formats::StoredFormat& format, std::span<const f32> values,
                 std::span<std::byte> bytes) { format.encode(values, bytes, {}); });
  auto& [shape, values] = cast_[parameter.name];
  shape = parameter.shape;
  values.resize(static_cast<std::size_t>(shape.elements()));
  formats::format_named(fitting->name)->decode(blocks.bytes, values);
  return *fitting;
}

DtypeInfo CastSource::patch(const families::BlockParameter& parameter, const nn::ParameterSource& other) {
  cast_[parameter.name] = {parameter.shape, values_of(other, parameter)};
  return counted(other.find(parameter.name).dtype, parameter);
}

nn::Parameter CastSource::find(std::string_view name) const {
  const auto found = cast_.find(name);
  if (found == cast_.end()) return original().find(name);
  return {dtype_info<f32>, found->second.first, std::as_bytes(std::span(found->second.second))};
}

}  // namespace precast::casting
