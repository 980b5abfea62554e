#include <algorithm>
#include <utility>

#include <casting/cast_source.hpp>
#include <casting/type_names.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/host/convert.hpp>
#include <precast/host/parallel.hpp>
#include <precast/io/message.hpp>
#include <precast/nn/parameters.hpp>
#include <precast/quant/by_name.hpp>

namespace precast::casting {

namespace {

const BlockFormat* block_format(std::string_view name) {
  const auto found =
      std::ranges::find(block_formats, name, [](const BlockFormat& format) { return format.info.name; });
  return found == block_formats.end() ? nullptr : &*found;
}

constexpr std::int64_t values_at_once = 8192;

/// Calls work(span) for pieces of the values, on all threads.
template <class Work>
void in_parallel(std::span<f32> values, Work&& work) {
  const auto count = static_cast<std::int64_t>(values.size());
  host::parallel_for(ceil_divide(count, values_at_once), [&](std::int64_t task) {
    const std::int64_t first = task * values_at_once;
    work(values.subspan(static_cast<std::size_t>(first),
                        static_cast<std::size_t>(std::min(values_at_once, count - first))));
  });
}

/// Rounds values to the scalar dtype of that name, and back; false where there is none.
bool round_to_scalar(std::string_view type, std::span<f32> values) {
  return any_dtype(ScalarDtypes{}, [&]<class T>() {
    if (dtype_traits<T>::name != type) return false;
    in_parallel(values, [](std::span<f32> some) { host::round_row<T>(some); });
    return true;
  });
}

}  // namespace

std::vector<f32>& CastSource::values_of(const families::BlockParameter& parameter,
                                        const nn::ParameterSource& source) {
  auto& [shape, values] = cast_[parameter.name];
  shape = parameter.shape;
  values.resize(static_cast<std::size_t>(shape.elements()));
  const nn::ParameterPath place(source, parameter.name);
  const nn::Parameter found = place.find(shape);
  if (block_format(found.dtype.name)) {
    quant::decode(found.dtype.name, found.bytes, values);
    return values;
  }
  nn::read_values<f32>(place, found, 0, std::span(values));
  return values;
}

DtypeInfo CastSource::cast(const families::BlockParameter& parameter, std::string_view type) {
  const auto wanted = find_type(type);
  if (!wanted)
    throw InputError("'" + io::printable(type) + "' is no format of this build: it has " + type_list());
  const auto fitting = fitting_type(*wanted, parameter.shape.back());
  if (!fitting) {
    cast_.erase(parameter.name);
    return parameter.dtype;
  }
  const std::string taken(fitting->name);
  std::vector<f32>& values = values_of(parameter, original_);
  if (round_to_scalar(taken, values)) return *fitting;
  const BlockFormat& format = *block_format(taken);
  // Allocated by operator new, which aligns them for every block.
  std::vector<std::byte> blocks(values.size() / static_cast<std::size_t>(format.info.values_per_block) *
                                static_cast<std::size_t>(format.info.bytes_per_block));
  try {
    quant::encode(taken, values, blocks);
  } catch (const InputError& wrong) {
    throw InputError(original_.description() + ": tensor '" + io::printable(parameter.name) +
                     "': " + wrong.what());
  }
  quant::decode(taken, blocks, values);
  return *fitting;
}

DtypeInfo CastSource::patch(const families::BlockParameter& parameter, const nn::ParameterSource& other) {
  values_of(parameter, other);
  return other.find(parameter.name).dtype;
}

nn::Parameter CastSource::find(std::string_view name) const {
  const auto found = cast_.find(name);
  if (found == cast_.end()) return original_.find(name);
  return {dtype_info<f32>, found->second.first, std::as_bytes(std::span(found->second.second))};
}

}  // namespace precast::casting
