// decode_run: decodes a run of stored values to f32, of scalars and of blocks: every loader of a weight
// reads through it.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast {

/// A dtype whose values ops can read: a scalar as format_of<T>() checks it, and a block dtype T that
///  - is one block of at least one value, as it lies in memory: sizeof(T) is its bytes_per_block, and it
///  copies as bytes do;
///  - has `static void dtype_traits<T>::decode(const T& block, int first, int count, f32* values)`, which
///  writes values [first, first + count) of a block as f32. Kernels call it too, for any run in a block:
///  write PRECAST_HOST_DEVICE before it.
/// Anything else is a static_assert error.
template <Dtype T>
consteval bool decodes() {
  if constexpr (!ScalarDtype<T>) {
    static_assert(
        sizeof(T) == dtype_traits<T>::bytes_per_block && std::is_trivially_copyable_v<T>,
        "A block dtype is one block as it lies in memory: its size is its bytes_per_block, and it can be "
        "copied as bytes.");
    static_assert(dtype_traits<T>::values_per_block > 0, "A block dtype has at least one value in a block.");
    static_assert(!detail::declares_format<T>() || detail::has_decode<T>,
                  "A block dtype that is multiplied needs static void decode(const T& block, int first, int "
                  "count, f32* values) in its dtype_traits.");
    return sizeof(T) == dtype_traits<T>::bytes_per_block && dtype_traits<T>::values_per_block > 0 &&
           detail::has_decode<T>;
  } else {
    static_cast<void>(format_of<T>());
    return true;
  }
}

/// Values [first, first + count) of a row as f32. `row` points to its first block (scalar): it is a
/// pointer, or the emulator's counterpart of one.
template <Dtype T, class Pointer>
[[gnu::always_inline]] PRECAST_HOST_DEVICE_CONSTEXPR void decode_run(const Pointer& row, std::int64_t first,
                                                                     std::int64_t count, f32* values) {
  if constexpr (ScalarDtype<T>) {
    for (std::int64_t i = 0; i < count; ++i) values[i] = convert_value<f32>(row[first + i]);
  } else {
    constexpr int in_block = dtype_traits<T>::values_per_block;
    while (count > 0) {
      const auto from = static_cast<int>(first % in_block);
      const int some = count < in_block - from ? static_cast<int>(count) : in_block - from;
      dtype_traits<T>::decode(row[first / in_block], from, some, values);
      first += some, count -= some, values += some;
    }
  }
}

}  // namespace precast
