// precast train --predict-ranks: predicts the time of a step on more ranks.
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
  std::vector<std::int64_t> ranks;        ///< empty: no prediction
  std::optional<double> latency;          ///< microseconds
  std::optional<std::int64_t> bandwidth;  ///< bytes per second
  std::optional<int> ranks_per_machine;
};

/// Adds --predict-ranks, --link-latency, --link-bandwidth and --ranks-per-machine.
void add_scaling_options(CLI::App& command, ScalingOptions& options);

/// The predicted steps by number of ranks, and the measurements behind them.
struct Scaling {
  cluster::Link link;
  cluster::Machine machine;
  cluster::StepParts parts;
  std::int64_t tokens = 0;          ///< per rank and step
  std::int64_t ranks_measured = 1;  ///< timed at once on this machine, for the slowdown
  std::vector<cluster::PredictedStep> steps;
};

/// Times steps of rank 0 alone, of all ranks at once if several are on its machine, and the link between
/// the ranks unless it is given. The result is valid on rank 0. Throws UsageError with one rank and no link
/// given.
Scaling measured_scaling(const TrainOptions& train, const ScalingOptions& options,
                         cluster::Communicator& job);

/// Prints a table or JSON, and writes the page of --report.
void show(const Scaling& scaling, const TrainOptions& train);

}  // namespace precast::cli
