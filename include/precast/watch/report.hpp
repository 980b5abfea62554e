// report: what an op calls with its result. Counts what is not finite, and finds the value that f32 would
// have had.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <precast/backend/backend.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/observer.hpp>
#include <precast/watch/scope.hpp>

namespace precast::watch {

namespace detail::inline PRECAST_BACKEND {

template <class T>
constexpr std::string_view dtype_name() {
  if constexpr (std::is_same_v<T, NoDtype>)
    return {};
  else
    return dtype_traits<T>::name;
}

struct NoProbe {
  double operator()() const { return 0; }
};

template <class Op, class Types, class T, class InF32, class Probe>
void report_active(std::string_view function, View<const T> result, InF32&& in_f32, Probe&& largest_inside) {
  Observer& told = *detail::observer.load();
  OpRecord record{current_path(),
                  function,
                  Op::name,
                  dtype_name<typename Types::storage>(),
                  dtype_name<typename Types::operand>(),
                  dtype_name<typename Types::accumulate>(),
                  dtype_name<typename Types::inside>(),
                  dtype_name<T>(),
                  result.shape(),
                  0,
                  0,
                  0};
  std::int64_t first = -1;
  for (std::int64_t r = 0; r < result.rows(); ++r) {
    const auto row = result.row(r);
    for (std::size_t c = 0; c < row.size(); ++c) {
      const f32 value = convert<f32>(row[c]);
      if (std::isfinite(value)) {
        record.max_abs = std::fmax(record.max_abs, std::fabs(value));
        continue;
      }
      ++(std::isnan(value) ? record.nans : record.infinities);
      if (first < 0) first = r * result.columns() + static_cast<std::int64_t>(c);
    }
  }
  told.on_op(record);
  if (first < 0 || !told.wants_non_finite()) return;
  NonFinite found{record, first, 0, 0, 0, dtype_traits<T>::format.max()};
  found.value =
      to_double(result.row(first / result.columns())[static_cast<std::size_t>(first % result.columns())]);
  const Tensor<f32> wide = in_f32();
  found.value_in_f32 = wide.values()[static_cast<std::size_t>(first)];
  found.largest_inside = largest_inside();
  told.on_non_finite(found);
}

}  // namespace detail::inline PRECAST_BACKEND

inline namespace PRECAST_BACKEND {

/// Tells the observer, if any, of an op's result. `Types` are the Precisions that the kernel was instantiated
/// with. `in_f32` computes the same op from the same inputs with `widened_to_f32<Types>` and returns a
/// Tensor<f32> of the result's shape; `largest_inside` returns the largest |x| between the op's steps in f32.
/// Both are only called for the first result that is not finite.
template <OpClass Op, class Types, class T, class InF32, class Probe = detail::NoProbe>
void report(std::string_view function, View<T> result, InF32&& in_f32, Probe&& largest_inside = {}) {
  if (active()) [[unlikely]]
    detail::report_active<Op, Types, std::remove_const_t<T>>(function, result, in_f32, largest_inside);
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::watch
