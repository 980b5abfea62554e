// The inputs of map_values on either backend, `map_values<Types>(out, function, in...)`: out =
// function(in...) elementwise, rounded once, and between its steps where Types::inside is narrower than
// f32. `function` takes and returns f32 (elementwise.hpp). An input is a View<const T> with out's rows and
// columns, or a RowBroadcast with its columns; it may be `out` itself, which is then overwritten.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/dtype/scalar.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

inline namespace PRECAST_BACKEND {

/// Rows of parameters that are broadcast over the rows of an op: row r of the op reads row (r / rows_each)
/// mod (number of rows) of `values`. A gate per sample covers `rows_each` tokens; a table of positions is
/// repeated for every sample.
template <class T>
struct RowBroadcast {
  using value_type = std::remove_const_t<T>;

  View<const value_type> values;
  std::int64_t rows_each = 1;
};

template <class Array>
RowBroadcast(Array, std::int64_t) -> RowBroadcast<typename Array::value_type>;

/// Whether an input can be treated as one row where `out` is.
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
