// report: what an op calls with its result. Counts what is not finite, and finds the value that f32 would
// have had.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include <precast/backend/extremes.hpp>
#include <precast/backend/memory.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/observer.hpp>
#include <precast/watch/scope.hpp>

namespace precast::watch {

namespace detail {

inline namespace PRECAST_BACKEND {

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

/// The value at a place in row-major order.
template <class T>
std::remove_const_t<T> value_at(const View<T>& view, std::int64_t index) {
  std::remove_const_t<T> value{};
  backend::Memory::copy_to_host(
      &value, view.data() + index / view.columns() * view.row_stride() + index % view.columns(),
      sizeof value);
  return value;
}

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
  const Extremes extremes = backend::extremes_of(result);
  record.max_abs = static_cast<double>(extremes.max_abs);
  record.infinities = extremes.infinities;
  record.nans = extremes.nans;
  told.on_op(record);
  if (extremes.all_finite() || !told.wants_non_finite()) return;
  const std::int64_t first = extremes.first_non_finite;
  NonFinite found{record, first, 0, 0, 0, dtype_traits<T>::format.max()};
  found.value = to_double(value_at(result, first));
  const Tensor<f32> wide = in_f32();
  found.value_in_f32 = value_at(wide.view(), first);
  found.largest_inside = largest_inside();
  told.on_non_finite(found);
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

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
