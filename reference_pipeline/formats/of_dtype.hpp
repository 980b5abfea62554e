// of_dtype: a dtype's facts and conversions as a StoredFormat.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>
#include <type_traits>

#include <formats/stored_format.hpp>

#include <precast/dtype/decode_run.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/host/rows/convert.hpp>
#include <precast/quant/encode.hpp>

namespace precast::formats {

/// Values that are converted by one task: a multiple of every format's block.
inline constexpr std::int64_t values_at_once = 8192;

namespace detail {

/// Calls work(first, count) for pieces of at most values_at_once values, on all threads.
void for_pieces(std::size_t values, const std::function<void(std::size_t first, std::size_t count)>& work);

template <Dtype T>
void decode_values(std::span<const std::byte> bytes, std::span<f32> values) {
  constexpr std::size_t in_block = dtype_traits<T>::values_per_block;
  constexpr std::size_t copied_at_once = std::max<std::size_t>(1, 1024 / in_block);
  for_pieces(values.size(), [&](std::size_t first, std::size_t count) {
    std::array<T, copied_at_once> aligned;
    for (std::size_t block = 0; block < count / in_block; block += copied_at_once) {
      const std::size_t some = std::min(copied_at_once, count / in_block - block);
      std::memcpy(static_cast<void*>(aligned.data()), bytes.data() + (first / in_block + block) * sizeof(T),
                  some * sizeof(T));
      f32* const to = values.data() + first + block * in_block;
      decode_run<T>(aligned.data(), 0, static_cast<std::int64_t>(some * in_block), to);
    }
  });
}

template <Dtype T>
void encode_values(std::span<const f32> values, std::span<std::byte> bytes,
                   const quant::EncodeOptions& options) {
  T* const blocks = reinterpret_cast<T*>(bytes.data());
  if constexpr (ScalarDtype<T>)
    for_pieces(values.size(), [&](std::size_t first, std::size_t count) {
      host::convert_row<T>(values.subspan(first, count), std::span(blocks + first, count));
    });
  else
    quant::encode<T>(values, std::span(blocks, bytes.size() / sizeof(T)), options);
}

template <Dtype T>
constexpr std::string_view file_name_of() {
  if constexpr (requires { dtype_traits<T>::safetensors_name; }) return dtype_traits<T>::safetensors_name;
  return {};
}

}  // namespace detail

/// Whether weights can be stored in T: it is a Dtype, which decodes, and a block dtype encodes. The
/// compiler says in one sentence what is missing.
template <class T>
consteval bool storable() {
  constexpr bool named = requires { std::string_view(dtype_traits<T>::name); };
  constexpr bool sized = requires {
    int{dtype_traits<T>::values_per_block};
    int{dtype_traits<T>::bytes_per_block};
  };
  static_assert(named, "A dtype needs static constexpr std::string_view name in its dtype_traits.");
  if constexpr (named) {
    static_assert(
        sized,
        "A dtype needs static constexpr int values_per_block and bytes_per_block in its dtype_traits.");
    if constexpr (sized) {
      if constexpr (ScalarDtype<T>) {
        return decodes<T>();
      } else if constexpr (decodes<T>()) {
        static_assert(
            quant::Encodable<T>,
            "A block dtype that weights are stored in needs void encode_block(const f32* values, T& "
            "block) beside it, in its own namespace.");
        // In files and commands a dtype of one value in a block is a scalar.
        static_assert(
            dtype_traits<T>::values_per_block > 1 && values_at_once % dtype_traits<T>::values_per_block == 0,
            "A block dtype that weights are stored in has 2 to 8192 values in a block, a number that divides "
            "8192.");
        return quant::Encodable<T>;
      }
    }
  }
  return false;
}

/// The facts of a dtype, without its conversions.
template <Dtype T>
StoredFormat facts_of() {
  StoredFormat format;
  format.name = dtype_traits<T>::name;
  format.info = dtype_info<T>;
  format.bits = bits_per_value(format.info);
  format.file_name = detail::file_name_of<T>();
  if constexpr (ScalarDtype<T>) format.scalar = dtype_traits<T>::format;
  return format;
}

/// The facts and conversions of a dtype. A scalar needs its dtype_traits; a block dtype `decode` in them
/// too, and `encode_block(const f32* values, T& block)` in its own namespace.
template <class T>
StoredFormat of_dtype() {
  if constexpr (storable<T>()) {
    StoredFormat format = facts_of<T>();
    format.decode = &detail::decode_values<T>;
    format.encode = &detail::encode_values<T>;
    return format;
  }
  return {};
}

}  // namespace precast::formats
