// Barriers that count arrivals and bytes, and the fence between a thread's own accesses and the asynchronous
// proxy's.
#pragma once

#include <cstdint>

#include <simt/pointer.hpp>
#include <simt/site.hpp>

namespace simt {

namespace detail {
void init_mbarrier(const void* at, int arrivals);
void arrive(Kind kind, const void* at, int bytes, Site site);
void wait_parity(const void* at, int parity, Site site);

/// Where a barrier is; no access of the thread's own.
template <class T>
const void* mbarrier_at(Pointer<T, Space::shared> barrier) {
  static_assert(sizeof(T) == 8, "A barrier has 8 bytes.");
  return Pointer<const T, Space::shared>(barrier).checked_bytes(8, 8);
}
}  // namespace detail

template <class T>
void init_mbarrier(Pointer<T, Space::shared> barrier, int arrivals) {
  detail::init_mbarrier(detail::mbarrier_at(barrier), arrivals);
}
template <class T>
void arrive(Pointer<T, Space::shared> barrier, Site site = Site::here()) {
  detail::arrive(Kind::arrive, detail::mbarrier_at(barrier), 0, site);
}
template <class T>
void arrive_expect_tx(Pointer<T, Space::shared> barrier, int bytes, Site site = Site::here()) {
  detail::arrive(Kind::arrive_expect_tx, detail::mbarrier_at(barrier), bytes, site);
}
template <class T>
void wait_parity(Pointer<T, Space::shared> barrier, int parity, Site site = Site::here()) {
  detail::wait_parity(detail::mbarrier_at(barrier), parity, site);
}
void fence_async_proxy(Site site = Site::here());

}  // namespace simt
