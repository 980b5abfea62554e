// StepProbe: a communicator without a transport, which records when a step requests which sums.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <precast/cluster/communicator.hpp>
#include <precast/cluster/step_time.hpp>

namespace precast::cluster {

/// One of two ranks whose other rank is absent: sums return at once and change nothing. All other work of a
/// step is done, including the rounding and copying of gradients for messages.
class StepProbe final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  Ticket start_sum(void*, std::int64_t count, SumDtype dtype) override {
    current_.sums.push_back({seconds(), static_cast<double>(count) * static_cast<double>(bytes_of(dtype))});
    return 0;
  }
  void wait(Ticket) override {
    if (current_.end_of_backward == 0) current_.end_of_backward = seconds();
  }
  double seconds_of(Ticket) const override { return 0; }
  void broadcast(std::span<std::byte>, int) override {}

  /// Begins a step.
  void begin_step() {
    current_ = {};
    start_ = Clock::now();
  }
  /// Ends the step, and returns its record.
  StepParts end_step() {
    current_.seconds = seconds();
    return current_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  Clock::time_point start_ = Clock::now();
  StepParts current_;
};

/// The median step by time. Throws Error where there is none.
inline StepParts median_step(std::vector<StepParts> steps) {
  if (steps.empty()) throw Error("no step was probed");
  const auto at = steps.begin() + static_cast<std::ptrdiff_t>(steps.size() / 2);
  std::ranges::nth_element(steps, at, {}, &StepParts::seconds);
  return *at;
}

}  // namespace precast::cluster
