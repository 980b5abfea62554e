// Readers of the values of a file's scalar dtype, selected by its name or its type.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include <precast/backend.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/host/rows/convert.hpp>

namespace precast::host {

/// Reads the values from `from` on, which may be any address, each rounded to T once.
template <ScalarDtype T>
using ReadScalars = void (*)(const std::byte* from, std::span<T> to);

/// The reader for the dtype of this name; null where it is no scalar dtype of files. Defined in
/// host/rows/scalar_reading.hpp; the pipeline links one unit for all T (kernels/).
template <ScalarDtype T>
ReadScalars<T> scalar_reader(std::string_view dtype);

/// Reads values of From from any address on, each rounded to T once.
template <ScalarDtype From, ScalarDtype T>
void read_scalars(const std::byte* from, std::span<T> to) {
  if constexpr (std::is_same_v<From, T>) {
    if (!to.empty()) std::memcpy(to.data(), from, to.size_bytes());
  } else {
    std::array<From, 1024> aligned;
    for (std::size_t i = 0; i < to.size(); i += aligned.size()) {
      const std::size_t count = std::min(aligned.size(), to.size() - i);
      std::memcpy(aligned.data(), from + i * sizeof(From), count * sizeof(From));
      convert_row<T>(std::span<const From>(aligned).first(count), to.subspan(i, count));
    }
  }
}

/// The reader for From, which may be a user-defined dtype: the linked unit has none of those.
template <ScalarDtype From, ScalarDtype T>
ReadScalars<T> reader_of() {
  constexpr bool is_listed =
      any_dtype(ScalarDtypes{}, [&]<class Listed>() { return std::is_same_v<Listed, From>; });
  if constexpr (is_listed)
    return scalar_reader<T>(dtype_traits<From>::name);
  else
    return &read_scalars<From, T>;
}

}  // namespace precast::host

// A unit that sees only declarations of kernels links the unit of kernels/ with the readers.
#if PRECAST_HOLDS_KERNELS
#include <precast/host/rows/scalar_reading.hpp>
#endif
