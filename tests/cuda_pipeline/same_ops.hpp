// Whether the emulated device runs the ops that the host runs, in the dtypes that the op table names.
#pragma once

#include <cstddef>

#include <catch2/catch.hpp>
#include <cuda_pipeline/emulated_backend.hpp>
#include <families/backend.hpp>
#include <support/dtype_names.hpp>

#include <precast/policy/choice.hpp>
#include <precast/watch/observer.hpp>
#include <precast/watch/trace.hpp>

namespace precast::testing {

/// Checks that the trace of `run(backend, choice)` is op by op the same on the emulated device as on the
/// host, and all of it finite, for each policy that this build emulates.
template <class Run>
void check_same_ops(const Run& run) {
  for (const PolicyChoice& choice : emulated_choices()) {
    const auto watched = [&](const families::Backend& backend) {
      watch::Trace trace;
      const watch::Watching watching(trace);
      run(backend, choice);
      return trace.records();
    };
    const auto device = watched(emulated_backend()), host = watched(families::cpu_backend());
    INFO(to_string(choice));
    REQUIRE(device.size() == host.size());
    for (std::size_t i = 0; i < host.size(); ++i) {
      INFO(host[i].path);
      CHECK(device[i].path == host[i].path);
      CHECK(device[i].op == host[i].op);
      CHECK(device[i].dtypes == host[i].dtypes);
      CHECK(device[i].shape == host[i].shape);
      CHECK((device[i].max_abs > 0) == (host[i].max_abs > 0));
      CHECK(device[i].infinities + device[i].nans == 0);
    }
  }
}

}  // namespace precast::testing
