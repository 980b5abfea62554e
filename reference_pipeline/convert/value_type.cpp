// One visitor from a type's name to the dtype, scalar or block, that decodes and encodes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>

#include <convert/value_type.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/decode_run.hpp>
#include <precast/host/convert.hpp>
#include <precast/quant/encode.hpp>

namespace precast::convert {

namespace {

constexpr std::string_view f64_name = "f64";

/// Calls visit(std::type_identity<T>{}) with the dtype of that name; false where there is none.
template <class Visit>
bool visit_type(std::string_view name, Visit&& visit) {
  const bool scalar = any_dtype(ScalarDtypes{}, [&]<class T>() {
    if constexpr (in_files<T>)
      if (dtype_traits<T>::name == name) {
        visit(std::type_identity<T>{});
        return true;
      }
    return false;
  });
  return scalar || visit_block_format(name, visit);
}

std::vector<DtypeInfo> listed_types() {
  std::vector<DtypeInfo> types;
  any_dtype(ScalarDtypes{}, [&]<class T>() {
    if constexpr (in_files<T>) types.push_back(dtype_info<T>);
    return false;
  });
  for (const BlockFormat& format : block_formats) types.push_back(format.info);
  return types;
}

/// Blocks that are copied at a time to where they are aligned.
template <class T>
constexpr std::size_t blocks_at_once = std::max<std::size_t>(1, 4096 / sizeof(T));

}  // namespace

std::span<const DtypeInfo> value_types() {
  static const std::vector<DtypeInfo> types = listed_types();
  return types;
}

std::optional<DtypeInfo> find_type(std::string_view name) {
  std::string lower(name);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const auto types = value_types();
  const auto found = std::ranges::find(types, lower, &DtypeInfo::name);
  return found == types.end() ? std::nullopt : std::optional(*found);
}

bool is_readable(const DtypeInfo& type) {
  return type.name == f64_name || std::ranges::find(value_types(), type) != value_types().end();
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
  visit_type(type.name, [&](auto identity) {
    using T = typename decltype(identity)::type;
    constexpr std::size_t in_block = dtype_traits<T>::values_per_block;
    const std::size_t blocks = values.size() / in_block;
    std::array<T, blocks_at_once<T>> aligned;
    for (std::size_t first = 0; first < blocks; first += aligned.size()) {
      const std::size_t some = std::min(aligned.size(), blocks - first);
      std::memcpy(aligned.data(), bytes.data() + first * sizeof(T), some * sizeof(T));
      decode_run<T>(aligned.data(), 0, static_cast<std::int64_t>(some * in_block),
                    values.data() + first * in_block);
    }
  });
}

bool encode(const DtypeInfo& type, std::span<const f32> values, std::span<std::byte> bytes) {
  f32 largest = 0;
  for (const f32 value : values) largest = std::max(largest, std::fabs(value));
  bool holds = true;
  visit_type(type.name, [&](auto identity) {
    using T = typename decltype(identity)::type;
    constexpr std::size_t in_block = dtype_traits<T>::values_per_block;
    const std::size_t blocks = values.size() / in_block;
    std::array<T, blocks_at_once<T>> aligned;
    for (std::size_t first = 0; first < blocks; first += aligned.size()) {
      const std::size_t some = std::min(aligned.size(), blocks - first);
      const std::span<const f32> here = values.subspan(first * in_block, some * in_block);
      const std::span<T> made = std::span<T>(aligned).first(some);
      if constexpr (ScalarDtype<T>) {
        host::convert_row<T>(here, made);
      } else {
        quant::encode<T>(here, made);
      }
      std::memcpy(bytes.data() + first * sizeof(T), made.data(), made.size_bytes());
    }
    if constexpr (ScalarDtype<T>) holds = static_cast<double>(convert<f32>(convert<T>(largest))) < INFINITY;
  });
  // A block's scale is an f16 at most: only large values can be beyond it.
  constexpr f32 never_too_large = 65504;
  if (is_block(type) && largest > never_too_large) {
    std::vector<f32> back(values.size());
    decode(type, bytes, back);
    holds = std::ranges::all_of(back, [](f32 value) { return std::isfinite(value); });
  }
  return holds;
}

}  // namespace precast::convert
