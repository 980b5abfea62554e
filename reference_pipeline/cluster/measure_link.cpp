#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <vector>

#include <cluster/measure_link.hpp>

#include <precast/dtype/scalar.hpp>

namespace precast::cluster {

namespace {

/// The seconds of a sum of so many values, in the middle of several.
double middle_seconds(Communicator& job, std::size_t count, int times) {
  using Clock = std::chrono::steady_clock;
  std::vector<f32> values(count);
  std::vector<double> seconds;
  for (int i = -2; i < times; ++i) {  // the first ones set up connections
    sum(job, 0);                      // all ranks begin together
    const auto start = Clock::now();
    job.wait(job.start_sum(values.data(), static_cast<std::int64_t>(count), SumDtype::f32));
    if (i >= 0) seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::ranges::nth_element(seconds, seconds.begin() + times / 2);
  return seconds[static_cast<std::size_t>(times / 2)];
}

}  // namespace

Link measured_link(Communicator& job) {
  constexpr std::size_t few = 1, many = std::size_t{4} << 20;
  const std::array sums{
      TimedSum{few * sizeof(f32), middle_seconds(job, few, 101)},
      TimedSum{static_cast<double>(many * sizeof(f32)), middle_seconds(job, many, 9)},
  };
  return link_of(sums, job.size());
}

}  // namespace precast::cluster
