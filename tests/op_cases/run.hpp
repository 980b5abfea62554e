// What a run of the cases does by its backend: which cases it takes, and how it repeats them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>

#include <precast/tensor/owned_tensor.hpp>

namespace precast::testing {

#if defined(PRECAST_EMULATE_CUDA)
inline constexpr bool emulated = true;
#else
inline constexpr bool emulated = false;
#endif

/// The most multiplications of a case, or what takes as long in ops that are no products: the emulator runs
/// every thread in turn.
inline constexpr std::int64_t most_multiplications =
    emulated ? 1'500'000 : std::numeric_limits<std::int64_t>::max();

/// The cases that this run takes, which must be most of the table: a case knows its `multiplications()`.
template <class Case, std::size_t N>
std::vector<Case> affordable(const Case (&cases)[N]) {
  std::vector<Case> taken;
  for (const Case& c : cases)
    if (c.multiplications() <= most_multiplications) taken.push_back(c);
  REQUIRE(taken.size() > N * 2 / 3);
  return taken;
}

/// Checks that a computation gives the same bits again: with any number of threads on the host, and the next
/// time on a device. In the emulator it checks nothing: there, proofs run each kernel under many schedules
/// (simt/proof.hpp).
template <class F>
void check_repeats([[maybe_unused]] F&& compute) {
  if constexpr (!emulated && backend::Memory::on_host)
    CHECK(same_on_any_threads(compute));
  else if constexpr (!emulated)
    CHECK(same_bits(compute(), compute()));
}

}  // namespace precast::testing
