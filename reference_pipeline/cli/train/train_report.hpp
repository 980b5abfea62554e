// The report of precast train --compare: a table, and a page with plots.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <cli/terminal/output.hpp>
#include <cli/train/train_run.hpp>

namespace precast::cli {

/// Tokens per second of the median step.
double median_speed(const TrainedRun& run);

/// One row per run below a head: policy, losses, first non-finite step, last gradient norm, number of inf
/// and NaN values in gradients, skipped steps, loss scale, speed, memory.
std::vector<std::vector<std::string>> comparison_table(std::span<const TrainedRun> runs);

/// An HTML page of the runs: the table; loss and loss scale by step; a histogram of the first run's
/// gradients by powers of two, with those that f16 flushes to zero.
std::string train_page(std::span<const TrainedRun> runs);

/// A run's results, for --json.
Json run_json(const TrainedRun& run);

}  // namespace precast::cli
