// The definition of scalar_reader: the reader for each scalar dtype of files, by name.
#pragma once

#include <string_view>

#include <precast/dtype/scalar.hpp>
#include <precast/host/rows/scalar_reader.hpp>

namespace precast::host {

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
