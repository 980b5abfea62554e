// The end of a training step for all parameters of a model at once, on this translation unit's backend:
// unscaling, norm and clipping of gradients, and AdamW. Functions update arrays in place, so none is an
// _into. Arrays are views, which wait for uploads when taken: take them in the step's context.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <precast/backend.hpp>
#include <precast/backend/optimiser.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/memory/memory_counter.hpp>
#include <precast/problem/context.hpp>
#include <precast/problem/optimiser_kernels.hpp>
#include <precast/tensor/shape.hpp>
#include <precast/tensor/view.hpp>
#include <precast/train/grad_scaler.hpp>

namespace precast::train {

inline namespace PRECAST_BACKEND {

namespace detail {

/// An array without gaps: its bytes, and its name for an error.
struct UpdatedArray {
  template <class T>
  UpdatedArray(const char* array_name, View<T> array)
      : name(array_name),
        shape(array.shape()),
        bytes(reinterpret_cast<const std::byte*>(array.data()),
              sizeof(T) * static_cast<std::size_t>(array.elements())) {}
  const char* name;
  Shape shape;
  std::span<const std::byte> bytes;
};

/// Throws ShapeError where two arrays overlap: one of them is updated, so that a parameter that is listed
/// twice would be updated twice.
inline void require_apart(const char* function, std::vector<UpdatedArray> arrays) {
  if (MemoryCounter::active()) return;  // a dry run has no real addresses
  std::erase_if(arrays, [](const UpdatedArray& one) { return one.bytes.empty(); });
  std::ranges::sort(arrays, std::ranges::less{}, [](const UpdatedArray& one) { return one.bytes.data(); });
  const auto both = std::ranges::adjacent_find(arrays, [](const UpdatedArray& one, const UpdatedArray& next) {
    return std::ranges::less{}(next.bytes.data(), one.bytes.data() + one.bytes.size());
  });
  if (both == arrays.end()) return;
  throw ShapeError(
      std::string(function) + ": the " + both[0].name + " " + to_string(both[0].shape) + " and the " +
      both[1].name + " " + to_string(both[1].shape) +
      " overlap: give each array memory of its own, and list a parameter that layers share once");
}

/// Checks all arrays before any of them changes.
template <ScalarDtype T>
void require_whole_and_apart(const char* function, std::span<const View<T>> gradients) {
  std::vector<UpdatedArray> arrays;
  for (const View<T>& gradient : gradients) {
    if (!gradient.contiguous())
      throw ShapeError(std::string(function) + ": a gradient " + to_string(gradient.shape()) +
                       " has gaps between its rows");
    arrays.emplace_back("gradient", gradient);
  }
  require_apart(function, std::move(arrays));
}

}  // namespace detail

/// Divides the gradients of all parameters by the scaler's scale, counts those that are inf or NaN, and
/// sums their squares in f64. On a device this is the only synchronisation of a step: 16 bytes come back,
/// which decide whether the step is skipped, and which the run prints. Throws ShapeError for arrays that have
/// gaps or overlap; then no gradient has changed.
template <ScalarDtype T>
GradientSums unscale(std::span<const View<T>> gradients, const GradScaler& scaler,
                     const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::require_whole_and_apart("unscale", gradients);
  return backend::unscale_gradients<T>(gradients, scaler.inverse());
}

/// Multiplies the gradients of all parameters by a factor, rounded to their dtype. Throws ShapeError for
/// arrays that have gaps or overlap; then no gradient has changed.
template <ScalarDtype T>
void scale_gradients(std::span<const View<T>> gradients, f32 factor,
                     const Context& context = current_context()) {
  const ContextScope scope(context);
  detail::require_whole_and_apart("scale_gradients", gradients);
  backend::scale_gradients<T>(gradients, factor);
}

/// AdamW's step number `step`, counted from 1, on all parameters. Masters and means are in T, and the
/// copies that ops read are rounded anew; where ops read T too, they read the masters, and `stored` is
/// empty. Throws ShapeError where the arrays of a parameter differ in size or have gaps, or where any two
/// overlap, and InputError for a step below 1 and for options out of the range that PyTorch allows; then no
/// parameter has changed.
template <ScalarDtype T, ScalarDtype Stored>
void adamw_step(std::span<const AdamWArrays<T, Stored>> parameters, const AdamWOptions& options,
                std::int64_t step, const Context& context = current_context()) {
  const ContextScope scope(context);
  const AdamWStep<T> of_value(options, step);
  constexpr bool one_copy = std::is_same_v<T, Stored>;
  std::vector<detail::UpdatedArray> arrays;
  for (const AdamWArrays<T, Stored>& one : parameters) {
    const std::int64_t count = one.master.elements();
    const auto refuse = [&](const char* why) {
      throw ShapeError("AdamW: a parameter " + to_string(one.master.shape()) + " has " + why);
    };
    if (one.gradient.elements() != count || one.mean.elements() != count || one.square.elements() != count)
      refuse("gradients or moments of another size");
    if (one_copy && one.stored.elements() != 0)
      refuse("stored values in its master's dtype: ops read the master, leave them out");
    if (!one_copy && one.stored.elements() != count)
      refuse("stored values, which ops read and each step rounds again, of another size");
    if (!(one.master.contiguous() && one.gradient.contiguous() && one.mean.contiguous() &&
          one.square.contiguous() && one.stored.contiguous()))
      refuse("an array with gaps between its rows");
    arrays.emplace_back("master", one.master);
    arrays.emplace_back("gradient", one.gradient);
    arrays.emplace_back("mean", one.mean);
    arrays.emplace_back("mean of squares", one.square);
    arrays.emplace_back("stored copy", one.stored);
  }
  detail::require_apart("AdamW", std::move(arrays));
  backend::adamw<T, Stored>(parameters, of_value);
}

/// Fills an array without gaps with zeros.
template <ScalarDtype T>
void clear(View<T> values, const Context& context = current_context()) {
  const ContextScope scope(context);
  backend::clear_values<T>(values);
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::train
