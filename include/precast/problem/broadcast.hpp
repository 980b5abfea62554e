// What map_values of either backend takes, `map_values<Types>(out, function, in...)`: out = function(in...),
// value by value, rounded once, and between its steps where Types::inside is narrower than f32. `function`
// takes and gives f32 (elementwise.hpp). An input is a View<const T> with out's rows and columns, or a
// RowBroadcast with its columns; one that is out itself is overwritten.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// Rows of parameters, each of which stands for many rows of an op. Row r of the op takes row (r / rows_each)
/// mod (number of rows) of `values`: a gate for each sample is followed by `rows_each` tokens, a table of
/// positions comes again for every sample.
template <class T>
struct RowBroadcast {
  using value_type = std::remove_const_t<T>;

  View<const value_type> values;
  std::int64_t rows_each = 1;
};

template <class Array>
RowBroadcast(Array, std::int64_t) -> RowBroadcast<typename Array::value_type>;

/// Whether an input may be taken as one row where `out` is.
template <class T>
bool is_one_run(const View<const T>& view) {
  return view.contiguous();
}
template <class T>
bool is_one_run(const RowBroadcast<T>&) {
  return false;
}

}  // namespace PRECAST_BACKEND

}  // namespace precast
