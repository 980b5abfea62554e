// The estimate of a run's memory beside what the run takes on the emulated device.
#pragma once

#include <cstdint>

#include <catch2/catch.hpp>
#include <families/pipeline.hpp>

#include <precast/watch/trace.hpp>

namespace precast::testing {

/// Holds if the estimate of a run is a tenth off at most, with a trace of it too where this build has the
/// watch hook.
inline void check_estimate_of_run(const families::Pipeline& pipeline, const families::Request& request) {
  const auto check = [&](bool traced) {
    const std::int64_t estimate = pipeline.estimate(request).peak(),
                       measured = pipeline.generate(request).peak_bytes;
    CAPTURE(traced, estimate, measured);
    CHECK(static_cast<double>(estimate) >= 0.9 * static_cast<double>(measured));
    CHECK(static_cast<double>(estimate) <= 1.1 * static_cast<double>(measured));
  };
  check(false);
  if constexpr (watch::compiled) {
    watch::Trace trace;
    const watch::Watching watching(trace);
    check(true);
  }
}

}  // namespace precast::testing
