// What a dtype is: a concept, and one traits type that holds its facts. A dtype of your own specialises it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <precast/dtype/float_format.hpp>
#include <precast/dtype/host_device.hpp>

namespace precast {

/// The facts of a dtype. A specialisation has:
///  - `name`, as the field writes it ("bf16", "q4_k");
///  - `values_per_block` and `bytes_per_block`: storage is blocks of n values in m bytes (1 and sizeof for
///  scalars);
///  - for a scalar: `format`, its FloatFormat. A scalar type other than float keeps its code in a member
///  `bits`. It may have `between_ops`, the dtype that products of such operands leave by default (its own
///  where it says nothing), `safetensors_name`, if files hold it, `dlpack_code`, DLPack's code of it
///  (interop/dlpack.hpp), and `operands_only`, true where it is never stored;
///  - for a block dtype that ops read: `decode(block, first, count, values)` (dtype/decode_run.hpp). The type
///  itself is one block as it lies in memory. Where blocks are not all of one size, `blocks_for(count)`.
template <class T>
struct dtype_traits {};

/// A type that can store numbers.
template <class T>
concept Dtype = requires {
  { dtype_traits<T>::name } -> std::convertible_to<std::string_view>;
  { dtype_traits<T>::values_per_block } -> std::convertible_to<int>;
  { dtype_traits<T>::bytes_per_block } -> std::convertible_to<int>;
};

/// A dtype whose values stand alone, each with its own sign, exponent and mantissa.
template <class T>
concept ScalarDtype = Dtype<T> && requires {
  { dtype_traits<T>::format } -> std::convertible_to<FloatFormat>;
};

/// A dtype whose values share scales: it can be stored, but not computed with before it is decoded.
template <class T>
concept BlockDtype = Dtype<T> && !ScalarDtype<T>;

/// A dtype's facts as a run-time value, for tables, files and traces.
struct DtypeInfo {
  std::string_view name;
  int values_per_block = 1;
  int bytes_per_block = 0;

  friend constexpr bool operator==(const DtypeInfo&, const DtypeInfo&) = default;
};

template <Dtype T>
inline constexpr DtypeInfo dtype_info{dtype_traits<T>::name, dtype_traits<T>::values_per_block,
                                      dtype_traits<T>::bytes_per_block};

/// Whether all blocks have one size, and the last of a row is stored whole.
template <Dtype T>
inline constexpr bool blocks_of_one_size = !requires {
  dtype_traits<T>::blocks_for(std::int64_t{});
};

/// Blocks that a row of `count` values takes, the last of which may be part empty; scalars are blocks of one.
template <Dtype T>
PRECAST_HOST_DEVICE_CONSTEXPR std::int64_t blocks_for(std::int64_t count) {
  if constexpr (blocks_of_one_size<T>)
    return ceil_divide(count, dtype_traits<T>::values_per_block);
  else
    return dtype_traits<T>::blocks_for(count);
}

/// Bytes that `count` values take; block dtypes round up to whole blocks.
template <Dtype T>
constexpr std::int64_t bytes_for(std::int64_t count) {
  return blocks_for<T>(count) * dtype_traits<T>::bytes_per_block;
}

}  // namespace precast
