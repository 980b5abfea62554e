// Runs of values between memory and f32 registers: by one access of up to 16 bytes where they lie aligned,
// else one by one.
#pragma once

#include <cstddef>
#include <cstdint>

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu {

/// The memory of a view, as kernels get it.
template <class T>
GlobalPointer<T> pointer_to(const DeviceView<T>& view) {
  return global_pointer(view.data(),
                        view.rows() ? (view.rows() - 1) * view.row_stride() + view.columns() : 0);
}

namespace detail {
template <class... T>
constexpr int widest_bytes() {
  std::size_t most = 0;
  ((most = max_of(most, sizeof(T))), ...);
  return static_cast<int>(most);
}
}  // namespace detail

/// How many values a thread takes at a time: 16 bytes of the widest dtype.
template <class... T>
inline constexpr int values_at_once = 16 / detail::widest_bytes<T...>();

/// Whether every row of a view begins where `Count` values can be read or written at once.
template <int Count, class T>
bool rows_are_aligned(const DeviceView<T>& view) {
  return reinterpret_cast<std::uintptr_t>(view.data()) % (Count * sizeof(T)) == 0 &&
         (view.rows() <= 1 || view.row_stride() % Count == 0);
}

/// A run of Count values in registers.
template <class T, int Count>
struct Run {
  T values[Count];
  PRECAST_DEVICE T& operator[](int i) { return values[i]; }
  PRECAST_DEVICE const T& operator[](int i) const { return values[i]; }
};

/// Reads the first `present` of Count values, by the widest accesses where `aligned`. The others are T{}.
template <int Count, class T>
PRECAST_DEVICE Run<std::remove_const_t<T>, Count> load_run(GlobalPointer<T> from, int present, bool aligned) {
  using Value = std::remove_const_t<T>;
  constexpr int at_once = min_of(Count, widest_vector<Value>);
  Run<Value, Count> run;
  if (aligned && present >= Count) {
    PRECAST_UNROLL
    for (int first = 0; first < Count; first += at_once) {
      const auto vector = load_vector<at_once>(from + first);
      PRECAST_UNROLL
      for (int i = 0; i < at_once; ++i) run[first + i] = vector[i];
    }
  } else {
    PRECAST_UNROLL
    for (int i = 0; i < Count; ++i) run[i] = i < present ? from[i] : Value{};
  }
  return run;
}

/// Writes the first `present` of Count values.
template <int Count, class T>
PRECAST_DEVICE void store_run(GlobalPointer<T> to, const Run<T, Count>& run, int present, bool aligned) {
  constexpr int at_once = min_of(Count, widest_vector<T>);
  if (aligned && present >= Count) {
    PRECAST_UNROLL
    for (int first = 0; first < Count; first += at_once) {
      Vector<T, at_once> vector;
      PRECAST_UNROLL
      for (int i = 0; i < at_once; ++i) vector[i] = run[first + i];
      store_vector_global(to + first, vector);
    }
  } else {
    PRECAST_UNROLL
    for (int i = 0; i < Count; ++i)
      if (i < present) to[i] = run[i];
  }
}

/// The same as f32.
template <int Count, class T>
PRECAST_DEVICE Run<f32, Count> load_f32(GlobalPointer<T> from, int present, bool aligned) {
  const auto run = load_run<Count>(from, present, aligned);
  Run<f32, Count> wide;
  PRECAST_UNROLL
  for (int i = 0; i < Count; ++i) wide[i] = to_f32(run[i]);
  return wide;
}

/// Rounds f32 values once, to what is stored.
template <bool Saturates, int Count, class T>
PRECAST_DEVICE void store_rounded(GlobalPointer<T> to, const Run<f32, Count>& wide, int present,
                                  bool aligned) {
  Run<T, Count> run;
  PRECAST_UNROLL
  for (int i = 0; i < Count; ++i)
    run[i] = round_to<T, Saturates>(with_planted_dtype<"result ignored">(wide[i]));
  store_run(to, run, present, aligned);
}

}  // namespace precast::gpu
