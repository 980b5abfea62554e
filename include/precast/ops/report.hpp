// report: every op calls it with its result. It counts values that are not finite, and finds the first
// one's value in f32. Empty in builds without the watch hook.
#pragma once

#include <precast/watch/ran_in.hpp>

#if PRECAST_HAS_WATCH

#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <precast/backend/extremes.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/policy/op_class.hpp>
#include <precast/tensor/owned_tensor.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/observer.hpp>
#include <precast/watch/scope.hpp>

namespace precast::watch {

namespace detail {

inline namespace PRECAST_BACKEND {

/// The value at a place in row-major order.
template <class T>
std::remove_const_t<T> value_at(const View<T>& view, std::int64_t index) {
  std::remove_const_t<T> value{};
  backend::Memory::copy_to_host(
      &value, view.data() + index / view.columns() * view.row_stride() + index % view.columns(),
      sizeof value);
  return value;
}

/// The callbacks of an op, type-erased: report_active is instantiated once for each dtype, not for each op,
/// since instances for ops were a sixth of a model's code.
struct OpInF32 {
  void* calls;
  Tensor<f32> (*result)(void* calls);
  double (*largest_inside)(void* calls);
};

template <class T>
void report_active(std::string_view function, std::string_view op_class, View<const T> result,
                   const OpInF32& in_f32) {
  Observer& observer = *detail::observer;
  const StampedRow ran = take_ran();
  const Extremes extremes = backend::extremes_of(result);
  OpRecord record{.path = current_path(),
                  .function = function,
                  .op = op_class,
                  .dtypes = ran.dtypes,
                  .shape = result.shape(),
                  .max_abs = static_cast<double>(extremes.max_abs),
                  .infinities = extremes.infinities,
                  .nans = extremes.nans};
  if (observer.wants_inside(record)) record.largest_inside = in_f32.largest_inside(in_f32.calls);
  observer.on_op(record);
  if (extremes.all_finite() || !observer.wants_non_finite()) return;
  const std::int64_t first = extremes.first_non_finite;
  const f32 value_in_f32 = value_at(in_f32.result(in_f32.calls).view(), first);
  const FloatFormat format = ran.rounded.value_or(dtype_traits<T>::format);
  observer.on_non_finite({.record = record,
                          .index = first,
                          .value = to_double(value_at(result, first)),
                          .value_in_f32 = value_in_f32,
                          .largest_inside = in_f32.largest_inside(in_f32.calls),
                          .result_max = format.max(),
                          .storage_max = ran.storage_max,
                          .rounds_to_finite = std::isfinite(format.decode(format.encode(value_in_f32)))});
}

}  // namespace PRECAST_BACKEND

}  // namespace detail

inline namespace PRECAST_BACKEND {

/// Reports an op's result to the observer, if any, with the dtypes that its kernel was instantiated for
/// (ran_in). `in_f32` computes the same op from the same inputs in f32 and returns a Tensor<f32> of the
/// result's shape; `largest_inside` returns the largest |x| between the op's steps in f32. `in_f32` is
/// called only for the first result that is not finite, `largest_inside` for that one and where the
/// observer wants it.
template <OpClass Op, class T, class InF32, class Probe>
void report(std::string_view function, View<T> result, InF32&& in_f32, Probe&& largest_inside) {
  if (active()) [[unlikely]] {
    struct Calls {
      InF32& result;
      Probe& largest_inside;
    } calls{in_f32, largest_inside};
    detail::report_active<std::remove_const_t<T>>(
        function, Op::name, result,
        {&calls, [](void* of) { return static_cast<Calls*>(of)->result(); },
         [](void* of) -> double { return static_cast<Calls*>(of)->largest_inside(); }});
  }
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::watch
#endif
