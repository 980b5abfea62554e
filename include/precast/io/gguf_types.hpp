// The types of tensors and of values that GGUF files know, by number and name.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/dtype.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::io {

/// A type of tensors.
struct GgufType {
  std::uint32_t number = 0;
  DtypeInfo info;           ///< {"q4_k", 256, 144}: the field's name in lower case
  bool has_values = false;  ///< whether Precast has this dtype, so that values of it can be read
};

namespace detail {

/// What ggml has and Precast has no dtype for: tensors of these are listed, not read.
inline constexpr std::array gguf_types_without_dtype = {
    GgufType{9, {"q8_1", 32, 36}},     GgufType{15, {"q8_k", 256, 292}},   GgufType{16, {"iq2_xxs", 256, 66}},
    GgufType{17, {"iq2_xs", 256, 74}}, GgufType{18, {"iq3_xxs", 256, 98}}, GgufType{19, {"iq1_s", 256, 50}},
    GgufType{21, {"iq3_s", 256, 110}}, GgufType{22, {"iq2_s", 256, 82}},   GgufType{24, {"i8", 1, 1}},
    GgufType{25, {"i16", 1, 2}},       GgufType{26, {"i32", 1, 4}},        GgufType{27, {"i64", 1, 8}},
    GgufType{28, {"f64", 1, 8}},       GgufType{29, {"iq1_m", 256, 56}},   GgufType{34, {"tq1_0", 256, 54}},
    GgufType{35, {"tq2_0", 256, 66}},  GgufType{41, {"q1_0", 128, 18}},    GgufType{42, {"q2_0", 64, 18}},
};

inline constexpr std::size_t gguf_block_types = static_cast<std::size_t>(
    std::ranges::count_if(block_formats, [](const BlockFormat& f) { return f.ggml_type != no_ggml_type; }));

constexpr auto all_gguf_types() {
  std::array<GgufType, 3 + gguf_block_types + gguf_types_without_dtype.size()> types{
      {{0, dtype_info<f32>, true}, {1, dtype_info<f16>, true}, {30, dtype_info<bf16>, true}}};
  std::size_t next = 3;
  for (const BlockFormat& format : block_formats)
    if (format.ggml_type != no_ggml_type)
      types[next++] = {static_cast<std::uint32_t>(format.ggml_type), format.info, true};
  for (const GgufType& type : gguf_types_without_dtype) types[next++] = type;
  std::ranges::sort(types, {}, &GgufType::number);
  return types;
}

/// Types that ggml once had in files.
struct RemovedGgufType {
  std::uint32_t number;
  std::string_view name;
};
inline constexpr RemovedGgufType removed_gguf_types[] = {
    {4, "Q4_2"},      {5, "Q4_3"},        {31, "Q4_0_4_4"},   {32, "Q4_0_4_8"},
    {33, "Q4_0_8_8"}, {36, "IQ4_NL_4_4"}, {37, "IQ4_NL_4_8"}, {38, "IQ4_NL_8_8"},
};

}  // namespace detail

/// Every type of tensors that a file may hold, by rising number.
inline constexpr auto gguf_types = detail::all_gguf_types();

static_assert(std::ranges::adjacent_find(gguf_types, {}, &GgufType::number) == gguf_types.end() &&
                  std::ranges::none_of(detail::removed_gguf_types,
                                       [](const detail::RemovedGgufType& removed) {
                                         return std::ranges::binary_search(gguf_types, removed.number, {},
                                                                           &GgufType::number);
                                       }),
              "Each type of GGUF has a number of its own.");

/// The type of that number, or nullptr.
constexpr const GgufType* gguf_type(std::uint32_t number) {
  const auto found = std::ranges::lower_bound(gguf_types, number, {}, &GgufType::number);
  return found != gguf_types.end() && found->number == number ? &*found : nullptr;
}
/// The type that stores a dtype of that name, or nullptr.
constexpr const GgufType* gguf_type(std::string_view name) {
  const auto found = std::ranges::find(gguf_types, name, [](const GgufType& type) { return type.info.name; });
  return found != gguf_types.end() ? &*found : nullptr;
}

/// A type as GGUF's own tools write it: "Q4_K".
inline std::string gguf_name(const GgufType& type) {
  std::string name(type.info.name);
  for (char& c : name)
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  return name;
}

/// The types of values beside tensors, with their numbers in files.
enum class GgufValueType : std::uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};
inline constexpr std::uint32_t gguf_value_types = 13;

/// Bytes of a value of that type; 0 for strings and arrays, which say it themselves.
constexpr std::size_t gguf_value_bytes(GgufValueType type) {
  constexpr std::array<std::size_t, gguf_value_types> bytes{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return bytes[static_cast<std::size_t>(type)];
}
constexpr std::string_view gguf_value_name(GgufValueType type) {
  constexpr std::array<std::string_view, gguf_value_types> names{
      "u8", "i8", "u16", "i16", "u32", "i32", "f32", "bool", "string", "array", "u64", "i64", "f64"};
  return names[static_cast<std::size_t>(type)];
}

}  // namespace precast::io
