// The definitions behind scalar_reader: runs of each scalar dtype of files as another.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/host/convert.hpp>
#include <precast/host/scalar_reader.hpp>

namespace precast::host {

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

template <ScalarDtype T>
ReadScalars<T> scalar_reader(std::string_view dtype) {
  ReadScalars<T> reader = nullptr;
  any_dtype(ScalarDtypes{}, [&]<class From>() {
    if constexpr (in_files<From>)
      if (dtype == dtype_traits<From>::name) reader = &read_scalars<From, T>;
    return reader != nullptr;
  });
  return reader;
}

}  // namespace precast::host
