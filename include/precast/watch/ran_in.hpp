// ran_in: how a kernel says which row of the op table it was stamped with, from inside the call.
#pragma once

#include <precast/watch/compiled.hpp>

#if PRECAST_HAS_WATCH
#include <string_view>
#include <utility>

#include <precast/policy/op_row.hpp>
#include <precast/watch/observer.hpp>
#endif

namespace precast::watch {

#if PRECAST_HAS_WATCH
/// The dtypes of a row, by name; empty where the row has none, and everywhere where no kernel ran.
struct RowNames {
  std::string_view storage, operand, accumulate, inside, result;
};

namespace detail {
inline thread_local RowNames ran;  // by the last kernel of this thread
}

/// What ran since the last call.
inline RowNames take_ran() { return std::exchange(detail::ran, {}); }
#endif

/// Every kernel's host function calls it first, with the types that it was instantiated with: what
/// the watch hook prints comes from here, and not from the row that the op meant. Free while nobody observes.
template <class Types>
void ran_in() {
#if PRECAST_HAS_WATCH
  if (active()) [[unlikely]]
    detail::ran = {dtype_name<typename Types::storage>(), dtype_name<typename Types::operand>(),
                   dtype_name<typename Types::accumulate>(), dtype_name<typename Types::inside>(),
                   dtype_name<typename Types::result>()};
#endif
}

}  // namespace precast::watch
