// One visitor from a type's name to the dtype, scalar or block, that decodes and encodes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include <convert/value_type.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/host/convert.hpp>
#include <precast/quant/by_name.hpp>

namespace precast::conversion {

namespace {

constexpr std::string_view f64_name = "f64";

/// Bytes that are copied at a time to where they are aligned.
constexpr std::size_t bytes_at_once = 4096;

/// Calls visit(std::type_identity<T>{}) with the scalar dtype of that name.
template <class Visit>
void visit_scalar(std::string_view name, Visit&& visit) {
  any_dtype(ScalarDtypes{}, [&]<class T>() {
    if constexpr (in_files<T>)
      if (dtype_traits<T>::name == name) {
        visit(std::type_identity<T>{});
        return true;
      }
    return false;
  });
}

}  // namespace

bool is_readable(const DtypeInfo& type) {
  return type.name == f64_name || std::ranges::find(casting::cast_types(), type, &casting::CastType::info) !=
                                      casting::cast_types().end();
}

void decode(const DtypeInfo& type, std::span<const std::byte> bytes, std::span<f32> values) {
  if (type.name == f64_name) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      double value;
      std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      values[i] = static_cast<f32>(value);
    }
    return;
  }
  const auto in_block = static_cast<std::size_t>(type.values_per_block),
             block_bytes = static_cast<std::size_t>(type.bytes_per_block);
  const std::size_t blocks = values.size() / in_block, at_once = bytes_at_once / block_bytes;
  alignas(16) std::array<std::byte, bytes_at_once> aligned;
  for (std::size_t first = 0; first < blocks; first += at_once) {
    const std::size_t some = std::min(at_once, blocks - first);
    const std::span<std::byte> here = std::span(aligned).first(some * block_bytes);
    std::memcpy(here.data(), bytes.data() + first * block_bytes, here.size());
    const std::span<f32> out = values.subspan(first * in_block, some * in_block);
    if (is_block(type))
      quant::decode(type.name, here, out);
    else
      visit_scalar(type.name, [&]<class T>(std::type_identity<T>) {
        host::convert_row<f32>(std::span(reinterpret_cast<const T*>(here.data()), some), out);
      });
  }
}

bool encode(const DtypeInfo& type, std::span<const f32> values, std::span<std::byte> bytes,
            const quant::EncodeOptions& options) {
  f32 largest = 0;
  for (const f32 value : values) largest = std::max(largest, std::fabs(value));
  if (is_block(type)) {
    quant::encode(type.name, values, bytes, options);
    // A block's scale is an f16 at most: only large values can be beyond it.
    constexpr f32 never_too_large = 65504;
    if (largest <= never_too_large) return true;
    std::vector<f32> back(values.size());
    decode(type, bytes, back);
    return std::ranges::all_of(back, [](f32 value) { return std::isfinite(value); });
  }
  bool holds = true;
  visit_scalar(type.name, [&]<class T>(std::type_identity<T>) {
    host::convert_row<T>(values, std::span(reinterpret_cast<T*>(bytes.data()), values.size()));
    holds = std::isfinite(convert<f32>(convert<T>(largest)));
  });
  return holds;
}

}  // namespace precast::conversion
