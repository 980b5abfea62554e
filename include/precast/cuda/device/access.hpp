// Loads and stores of runs of values, converted to f32 registers: by accesses of up to 16 bytes where
// memory is aligned, else one value at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include <precast/cuda/device/convert.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu {

/// A view's memory, as kernels take it. With a negative row stride, the first row is the last in memory.
template <class T>
GlobalPointer<T> pointer_to(const DeviceView<T>& view) {
  const std::int64_t rows = view.rows(), last = rows ? (rows - 1) * view.row_stride() : 0;
  const std::int64_t before = last < 0 ? -last : 0;
  return global_pointer(view.data() - before, rows ? before + (last < 0 ? 0 : last) + view.columns() : 0) +
         before;
}

/// A view's rows, as kernels get them.
template <class T>
struct DeviceRows {
  GlobalPointer<T> data;
  std::int64_t stride;

  DeviceRows(const DeviceView<T>& view)  // NOLINT(google-explicit-constructor)
      : data(pointer_to(view)), stride(view.row_stride()) {}
  PRECAST_DEVICE GlobalPointer<T> row(std::int64_t index) const { return data + index * stride; }
};

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
  PRECAST_DEVICE void set(int i, T value) { values[i] = value; }
};

/// Narrow values stay packed in the words of a vector load until they are used. Unpacked at the load, which
/// may be in one of two branches, each vector would be waited for before the next load is issued.
template <class T, int Count>
  requires((sizeof(T) == 1 || sizeof(T) == 2) && Count * sizeof(T) % sizeof(std::uint32_t) == 0)
struct Run<T, Count> {
  static constexpr int in_word = static_cast<int>(sizeof(std::uint32_t) / sizeof(T));
  using Word = Vector<T, in_word>;
  std::uint32_t words[Count / in_word];

  /// Returns a const copy, as an assignment to it would be lost: use set().
  PRECAST_DEVICE const T operator[](int i) const {  // NOLINT(readability-const-return-type)
    using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t, std::uint16_t>;
    constexpr int bits = 8 * static_cast<int>(sizeof(T));
    // A shift, which the compiler merges with the one that widens bf16; reading half of a word from memory
    // takes two instructions more.
    return bit_cast<T>(static_cast<Bits>(words[i / in_word] >> (i % in_word * bits)));
  }
  PRECAST_DEVICE void set(int i, T value) {
    Word word = bit_cast<Word>(words[i / in_word]);
    word[i % in_word] = value;
    words[i / in_word] = bit_cast<std::uint32_t>(word);
  }
};

/// Reads the first `present` of Count values, by the widest accesses where `aligned`. The others are T{}.
template <int Count, class T>
PRECAST_DEVICE Run<std::remove_const_t<T>, Count> load_run(GlobalPointer<T> from, int present, bool aligned) {
  using Value = std::remove_const_t<T>;
  constexpr int at_once = min_of(Count, widest_vector<Value>);
  using Part = Run<Value, at_once>;
  if (aligned && present >= Count) {
    struct {
      Part parts[Count / at_once];
    } read;
    PRECAST_UNROLL
    for (int p = 0; p < Count / at_once; ++p)
      read.parts[p] = bit_cast<Part>(load_vector<at_once>(from + p * at_once));
    return bit_cast<Run<Value, Count>>(read);
  }
  Run<Value, Count> run{};
  PRECAST_UNROLL
  for (int i = 0; i < Count; ++i)
    if (i < present) run.set(i, from[i]);
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

/// A run's values as f32.
template <class T, int Count>
PRECAST_DEVICE Run<f32, Count> in_f32(const Run<T, Count>& run) {
  Run<f32, Count> wide;
  PRECAST_UNROLL
  for (int i = 0; i < Count; ++i) wide[i] = to_f32(run[i]);
  return wide;
}
/// load_run, converted to f32: for a single run. Of several runs, load all before any is converted.
template <int Count, class T>
PRECAST_DEVICE Run<f32, Count> load_f32(GlobalPointer<T> from, int present, bool aligned) {
  return in_f32(load_run<Count>(from, present, aligned));
}

/// Rounds f32 values once, to what is stored.
template <bool Saturates, int Count, class T>
PRECAST_DEVICE void store_rounded(GlobalPointer<T> to, const Run<f32, Count>& wide, int present,
                                  bool aligned) {
  Run<T, Count> run{};
  PRECAST_UNROLL
  for (int i = 0; i < Count; ++i)
    run.set(i, round_to<T, Saturates>(with_planted_dtype<"result ignored">(wide[i])));
  store_run(to, run, present, aligned);
}

}  // namespace precast::gpu
