#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <cluster/measure_link.hpp>
#include <unistd.h>

#include <precast/dtype/scalar.hpp>

namespace precast::cluster {

namespace {

/// Median time in seconds of summing `count` f32 values over the ranks, over `times` runs.
double median_seconds(Communicator& job, std::size_t count, int times) {
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

/// A number that identifies this machine: a hash of its boot id, one for all containers, or host name.
double number_of_machine() {
  std::string name;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), name);
  if (name.empty()) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    name = host;
  }
  constexpr std::size_t exact = std::size_t{1} << 52;  // integers below it, in f64
  return 1 + static_cast<double>(std::hash<std::string>()(name) % exact);
}

/// The number_of_machine of each rank.
std::vector<double> numbers_of_machines(Communicator& job) {
  std::vector<double> machines(static_cast<std::size_t>(job.size()));
  machines[static_cast<std::size_t>(job.rank())] = number_of_machine();
  job.wait(job.start_sum(machines.data(), job.size(), SumDtype::f64));
  return machines;
}

}  // namespace

std::int64_t ranks_of_this_machine(Communicator& job) {
  const std::vector<double> machines = numbers_of_machines(job);
  return std::ranges::count(machines, machines[static_cast<std::size_t>(job.rank())]);
}

std::int64_t place_on_this_machine(Communicator& job) {
  const std::vector<double> machines = numbers_of_machines(job);
  const auto own = machines.begin() + job.rank();
  return std::count(machines.begin(), own, *own);
}

Link measured_link(Communicator& job) {
  constexpr std::size_t few = 1, many = std::size_t{4} << 20;
  const std::array sums{
      TimedSum{few * sizeof(f32), median_seconds(job, few, 101)},
      TimedSum{static_cast<double>(many * sizeof(f32)), median_seconds(job, many, 9)},
  };
  return link_of(sums, job.size());
}

}  // namespace precast::cluster
