// Declarations of the kernels of losses, for either backend; documented at the definitions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>

#include <precast/dtype/host_device.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/problem/context.hpp>
#include <precast/tensor/indices.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

/// The target of a row that a cross entropy leaves out.
inline constexpr std::int32_t no_target = -1;
/// The target of a row whose class number is invalid: results computed from it are NaN.
inline constexpr std::int32_t not_a_class = -2;

/// The number of rows that count in a loss, by which its mean divides.
inline f32 rows_that_count(std::span<const std::int32_t> targets) {
  return static_cast<f32>(std::ssize(targets) - std::count(targets.begin(), targets.end(), no_target));
}

/// Targets that no op has checked, as the caller gives them; rows with the ignored number are left out.
template <IndexInteger Number, class MemorySpace>
struct UncheckedTargets {
  IndicesIn<Number, MemorySpace> numbers;
  std::int64_t ignored;

  /// A target as kernels take it: a number below `classes`, `no_target` or `not_a_class`.
  PRECAST_HOST_DEVICE static std::int32_t checked(std::int64_t number, std::int64_t ignored_number,
                                                  std::int64_t classes) {
    if (number == ignored_number) return no_target;
    return number >= 0 && number < classes ? static_cast<std::int32_t>(number) : not_a_class;
  }
};

}  // namespace precast

namespace precast::PRECAST_KERNELS {

template <class Types, class X, class Y>
void mean_squared_error(View<const X> x, View<const Y> y, View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class From>
void cross_entropy(View<const From> logits, std::span<const std::int32_t> targets,
                   View<typename Types::result> out PRECAST_ON_STREAM);
template <class Types, class From, IndexInteger Number>
void cross_entropy(View<const From> logits, UncheckedTargets<Number, BackendSpace> targets,
                   View<typename Types::result> out PRECAST_ON_STREAM);

}  // namespace precast::PRECAST_KERNELS
