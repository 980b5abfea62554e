// ran_in: reports, from inside a kernel's call, which row of the op table it was instantiated with; and
// whether this build can watch ops. The CMake option PRECAST_WATCH decides that; a program that only
// includes headers has no watch hook unless it defines PRECAST_HAS_WATCH as 1, in all of its units alike.
#pragma once

#ifndef PRECAST_HAS_WATCH
#define PRECAST_HAS_WATCH 0
#endif

#if PRECAST_HAS_WATCH
#include <limits>
#include <optional>
#include <utility>

#include <precast/dtype/dtype.hpp>
#include <precast/policy/op_table.hpp>
#endif

namespace precast::watch {

namespace detail {
// Thread-local in units with the hook, global in others: linkers reject one name for both, and so report
// that units differ.
// NOLINTBEGIN(readability-identifier-naming): what they say shows the macro's name
#if PRECAST_HAS_WATCH
[[gnu::used]] inline thread_local char PRECAST_HAS_WATCH_is_the_same_in_all_units = 0;
#else
[[gnu::used]] inline char PRECAST_HAS_WATCH_is_the_same_in_all_units = 0;
#endif
// NOLINTEND(readability-identifier-naming)
}  // namespace detail

/// Where it is false, ops report nothing, and no op is compiled a second time in f32 for comparison.
inline constexpr bool compiled = PRECAST_HAS_WATCH != 0;

#if PRECAST_HAS_WATCH
/// Receives the records of ops (watch/observer.hpp).
class Observer;

/// The row that a kernel reported; without names where none ran.
struct StampedRow {
  DtypeNames dtypes;
  /// The largest finite number of a scalar storage, else infinity.
  double storage_max = std::numeric_limits<double>::infinity();
  std::optional<FloatFormat> rounded{};  ///< that of the result, where it is stored in a wider dtype
};

namespace detail {
template <class Storage>
consteval double max_of_storage() {
  if constexpr (ScalarDtype<Storage>)
    return dtype_traits<Storage>::format.max();
  else
    return std::numeric_limits<double>::infinity();
}

inline thread_local Observer* observer = nullptr;
inline thread_local StampedRow ran;  // by the last kernel of this thread
}  // namespace detail

/// Whether anybody observes this thread.
inline bool active() { return detail::observer != nullptr; }

/// The row that was reported since the last call.
inline StampedRow take_ran() { return std::exchange(detail::ran, {}); }
#else
/// Whether anybody observes this thread.
constexpr bool active() { return false; }
#endif

/// Every kernel's host function calls it first, with the types that it was instantiated with: the watch
/// hook prints these, not the row that the op meant. Free while nobody observes.
template <class Types>
void ran_in() {
#if PRECAST_HAS_WATCH
  if (active()) [[unlikely]]
    detail::ran = {dtype_names<Types>(), detail::max_of_storage<typename Types::storage>()};
#endif
}

/// The host function of a kernel that rounds an op's result in place calls it, with the dtype it rounds to.
template <class Rounded>
void rounded_to() {
#if PRECAST_HAS_WATCH
  if (active()) [[unlikely]] {
    detail::ran.dtypes.result = dtype_name<Rounded>();
    detail::ran.rounded = dtype_traits<Rounded>::format;
  }
#endif
}

}  // namespace precast::watch
