// precast train --predict-ranks: how long a step takes on more ranks than there are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <cli/train/train_options.hpp>

#include <precast/cluster/communicator.hpp>
#include <precast/cluster/step_time.hpp>

namespace precast::cli {

struct ScalingOptions {
  std::vector<std::int64_t> ranks;        ///< empty: nothing is predicted
  std::optional<double> latency;          ///< microseconds
  std::optional<std::int64_t> bandwidth;  ///< bytes a second
  std::optional<int> ranks_per_machine;
};

/// Adds --predict-ranks, --link-latency, --link-bandwidth and --ranks-per-machine.
void add_scaling_options(CLI::App& command, ScalingOptions& options);

/// Steps on so many ranks, and from what they were predicted.
struct Scaling {
  cluster::Link link;
  cluster::Machine machine;
  cluster::StepParts parts;
  std::int64_t tokens = 0;          ///< of one rank in a step
  std::int64_t ranks_measured = 1;  ///< that computed at once on the machine, for its slowdown
  std::vector<cluster::PredictedStep> steps;
};

/// Times some steps of rank 0 alone, of all ranks at once where several are on its machine, and the link
/// between the ranks of the job where it is not given; rank 0's is the answer. Throws UsageError where there
/// is one rank and no link.
Scaling measured_scaling(const TrainOptions& train, const ScalingOptions& options,
                         cluster::Communicator& job);

/// Prints a table or JSON, and writes the page that --report names.
void show(const Scaling& scaling, const TrainOptions& train);

}  // namespace precast::cli
