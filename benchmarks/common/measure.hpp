// Measuring one piece of work against another that runs in turn with it, so that a busy machine slows both.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

namespace precast::bench {

template <class Work>
double seconds_of(Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// What all threads of this process computed meanwhile: of a machine with neighbours that is the work alone.
/// Of a thread that waits and spins, the spinning too: for one thread.
template <class Work>
double process_seconds_of(Work&& work) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  const double begin = now();
  work();
  return now() - begin;
}

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  if (values.empty()) return 0;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

/// Medians of both times, and of the ratios of neighbours.
struct InTurn {
  double seconds = 0, reference_seconds = 0, reference_over_work = 0;
};

/// Measures work and reference once for each iteration of the state, whose time it sets to that of the work.
/// Both arguments do what is measured and return its seconds.
template <class TimeWork, class TimeReference>
InTurn time_in_turn(benchmark::State& state, TimeWork&& time_work, TimeReference&& time_reference) {
  std::vector<double> times, reference_times, ratios;
  for (auto _ : state) {
    times.push_back(time_work());
    state.SetIterationTime(times.back());
    reference_times.push_back(time_reference());
    ratios.push_back(reference_times.back() / times.back());
  }
  const InTurn result{median(times), median(reference_times), median(ratios)};
  state.counters["seconds"] = result.seconds;
  return result;
}

/// Seconds of work of ours that comes after oneDNN's.
template <class Work>
double seconds_after_onednn(Work&& work) {
  // OpenMP's threads spin for some milliseconds after their work, and would take a core from ours.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return seconds_of(work);
}

/// The same on the host, after a first run of both.
template <class Work, class Reference>
InTurn measure_in_turn(benchmark::State& state, Work&& work, Reference&& reference) {
  work();
  reference();
  return time_in_turn(
      state, [&] { return seconds_after_onednn(work); }, [&] { return seconds_of(reference); });
}

/// A size of this process in /proc/self/status in bytes: "VmRSS" now, "VmHWM" at most since
/// `forget_peak_resident`.
inline double resident_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kibibytes = 0;
    if (word == key + ":" && status >> kibibytes) return kibibytes * 1024;
  }
  return 0;
}
inline void forget_peak_resident() { std::ofstream("/proc/self/clear_refs") << "5"; }

}  // namespace precast::bench
