// The time of a training step on more ranks: the computation of one rank, and the part of its sums that is
// not hidden behind that.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include <precast/error.hpp>

namespace precast::cluster {

/// The link that carries messages between two ranks.
struct Link {
  double latency = 0;    ///< seconds that a message takes, however short
  double bandwidth = 0;  ///< bytes a second, each way
};

/// Seconds of a sum of `bytes` over `ranks`, by the faster of two ways. A ring sends 2 (n - 1) messages one
/// after another, of a part in n each. A tree goes up and down: 2 log2 n messages, behind which all bytes
/// stream through twice.
inline double sum_seconds(double bytes, std::int64_t ranks, const Link& link) {
  if (ranks <= 1) return 0;
  const auto n = static_cast<double>(ranks);
  const double ring = 2 * (n - 1) * (link.latency + bytes / n / link.bandwidth);
  const auto levels = static_cast<double>(std::bit_width(static_cast<std::uint64_t>(ranks - 1)));
  const double tree = 2 * (levels * link.latency + bytes / link.bandwidth);
  return std::min(ring, tree);
}

/// A sum that a step requests.
struct StepSum {
  double asked = 0;  ///< seconds since the step began
  double bytes = 0;
};

/// The work of one rank in a step, without waiting for others.
struct StepParts {
  double seconds = 0;          ///< of the whole step
  double end_of_backward = 0;  ///< seconds since it began, when nothing is left but to wait for sums
  std::vector<StepSum> sums;   ///< in the order in which they are asked for
};

/// How the ranks of one machine share it.
struct Machine {
  std::int64_t ranks = 1;    ///< on one machine, where there are as many
  std::int64_t threads = 1;  ///< of a rank
  std::int64_t cores = 1;
  std::int64_t cores_of_rank = 0;  ///< on which a rank may run; 0: on all
  /// The increase in a rank's computing time for each other one that computes at once, even with cores for
  /// all: memory and caches are shared. 0.1: two take 1.1 times as long as one.
  double slowdown = 0;

  /// Threads of a machine's ranks over its cores; above 1 they take turns.
  double threads_per_core(std::int64_t all_ranks) const {
    return static_cast<double>(std::min(all_ranks, ranks) * threads) / static_cast<double>(cores);
  }
  /// The part of a core that a rank has for sums, beside the cores on which its machine's ranks compute.
  double free_core(std::int64_t all_ranks) const {
    double of_one = static_cast<double>(cores) / static_cast<double>(std::min(all_ranks, ranks));
    if (cores_of_rank > 0) of_one = std::min(of_one, static_cast<double>(cores_of_rank));
    return std::clamp(of_one - static_cast<double>(threads), 0.0, 1.0);
  }
  /// The factor on computing time against that of one rank alone.
  double slower(std::int64_t all_ranks) const {
    const double at_once = std::max(1.0, std::min(static_cast<double>(std::min(all_ranks, ranks)),
                                                  static_cast<double>(cores) / static_cast<double>(threads)));
    return std::max(1.0, threads_per_core(all_ranks)) * (1 + (at_once - 1) * slowdown);
  }
};

/// The slowdown of a machine on which `ranks` at once took `together` seconds for what one took `alone` for;
/// none where they were no slower than turns at its cores make them.
inline double measured_slowdown(double alone, double together, std::int64_t ranks, Machine machine) {
  machine.ranks = ranks;
  machine.slowdown = 0;
  const double turns = machine.slower(ranks);
  machine.slowdown = 1;
  const double others = machine.slower(ranks) / turns - 1;  // that compute at once
  return others > 0 ? std::max(0.0, together / alone / turns - 1) / others : 0;
}

/// A step on `ranks` ranks.
struct PredictedStep {
  std::int64_t ranks = 1;
  double compute = 0;     ///< seconds that a rank computes
  double all_reduce = 0;  ///< seconds that its sums take
  double waiting = 0;     ///< those of them in which it does not compute
  double seconds() const { return compute + waiting; }
};

/// Predicts a step. Sums run one after another beside the computation, each from when it was requested.
/// Computation takes longer where the ranks of a machine have more threads than it has cores, and where
/// they share its memory; a sum is hidden only as far as a core is free for it, since a processor sends and
/// adds. Throws InputError for numbers below 1 and a link without a bandwidth.
inline PredictedStep predicted_step(const StepParts& parts, std::int64_t ranks, const Link& link,
                                    const Machine& machine = {}) {
  if (ranks < 1 || machine.ranks < 1 || machine.threads < 1 || machine.cores < 1)
    throw InputError("a step is predicted for at least 1 rank, thread and core");
  if (ranks > 1 && !(link.bandwidth > 0 && link.latency >= 0))
    throw InputError("a link has a bandwidth above 0, and a latency of 0 or more");
  const double slower = machine.slower(ranks), free_core = machine.free_core(ranks);
  PredictedStep step{.ranks = ranks, .compute = parts.seconds * slower};
  double carried_until = 0;  // when the sums so far are done
  for (const StepSum& sum : parts.sums) {
    const double seconds = sum_seconds(sum.bytes, ranks, link);
    carried_until = std::max(carried_until, sum.asked * slower) + seconds;
    step.all_reduce += seconds;
  }
  const double not_hidden = ranks == 1 ? 0 : std::max(0.0, carried_until - parts.end_of_backward * slower);
  step.waiting = free_core * not_hidden + (1 - free_core) * step.all_reduce;
  return step;
}

/// A sum that was timed.
struct TimedSum {
  double bytes = 0, seconds = 0;
};

/// The link that explains the times of small and large sums over `ranks`: the shortest gives the latency,
/// the largest what is left for bytes. Throws InputError where there are fewer than two sizes.
inline Link link_of(std::span<const TimedSum> sums, std::int64_t ranks) {
  const auto by_bytes = [](const TimedSum& a, const TimedSum& b) { return a.bytes < b.bytes; };
  if (ranks < 2 || sums.empty() ||
      std::ranges::min(sums, by_bytes).bytes >= std::ranges::max(sums, by_bytes).bytes)
    throw InputError("a link is measured between at least 2 ranks, by sums of at least 2 sizes");
  const TimedSum few = std::ranges::min(sums, by_bytes), many = std::ranges::max(sums, by_bytes);
  const auto n = static_cast<double>(ranks);
  const double latency =
      few.seconds / (2 * static_cast<double>(std::bit_width(static_cast<std::uint64_t>(ranks - 1))));
  // The largest sum uses the ring.
  const double streaming = std::max(many.seconds - 2 * (n - 1) * latency, many.seconds / 10);
  return {latency, 2 * (n - 1) / n * many.bytes / streaming};
}

}  // namespace precast::cluster
