// RowBroadcast: rows of parameters, each of which stands for many rows of an op.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

/// Row r of an op takes row (r / rows_each) mod (number of rows) of `values`: a gate for each picture is
/// followed by `rows_each` tokens, a table of positions comes again for every picture.
template <class T>
struct RowBroadcast {
  using value_type = std::remove_const_t<T>;

  View<const value_type> values;
  std::int64_t rows_each = 1;
};

template <class Array>
RowBroadcast(Array, std::int64_t) -> RowBroadcast<typename Array::value_type>;

}  // namespace precast
