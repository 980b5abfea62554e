// ran_in: how a kernel says which row of the op table it was stamped with, from inside the call; and whether
// ops of this build can be watched. The CMake option PRECAST_WATCH decides; who only includes headers has no
// watch hook unless PRECAST_HAS_WATCH is defined as 1, in all units of a program alike.
#pragma once

#ifndef PRECAST_HAS_WATCH
#define PRECAST_HAS_WATCH 0
#endif

#if PRECAST_HAS_WATCH
#include <limits>
#include <utility>

#include <precast/dtype/dtype.hpp>
#include <precast/policy/op_table.hpp>
#endif

namespace precast::watch {

namespace detail {
// In each unit, of a thread or of the process: linkers refuse one name for both, and so say that units
// differ.
// NOLINTBEGIN(readability-identifier-naming): what they say shows the macro's name
#if PRECAST_HAS_WATCH
[[gnu::used]] inline thread_local char PRECAST_HAS_WATCH_is_the_same_in_all_units = 0;
#else
[[gnu::used]] inline char PRECAST_HAS_WATCH_is_the_same_in_all_units = 0;
#endif
// NOLINTEND(readability-identifier-naming)
}  // namespace detail

/// Without it ops report nothing, and no op is stamped a second time in f32 to be compared with.
inline constexpr bool compiled = PRECAST_HAS_WATCH != 0;

#if PRECAST_HAS_WATCH
/// Who is told of ops (watch/observer.hpp).
class Observer;

/// What a kernel said that it was stamped with; without a name where none ran.
struct StampedRow {
  DtypeNames dtypes;
  /// The largest finite number of a scalar storage, else infinity.
  double storage_max = std::numeric_limits<double>::infinity();
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

/// What ran since the last call.
inline StampedRow take_ran() { return std::exchange(detail::ran, {}); }
#else
/// Whether anybody observes this thread.
constexpr bool active() { return false; }
#endif

/// Every kernel's host function calls it first, with the types that it was instantiated with: what
/// the watch hook prints comes from here, and not from the row that the op meant. Free while nobody observes.
template <class Types>
void ran_in() {
#if PRECAST_HAS_WATCH
  if (active()) [[unlikely]]
    detail::ran = {dtype_names<Types>(), detail::max_of_storage<typename Types::storage>()};
#endif
}

}  // namespace precast::watch
