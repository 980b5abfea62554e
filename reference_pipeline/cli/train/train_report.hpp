// What precast train --compare makes of its runs: a table, and a page with plots.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <cli/terminal/output.hpp>
#include <cli/train/train_run.hpp>

namespace precast::cli {

/// Tokens a second of the step in the middle of all, by speed.
double middle_speed(const TrainedRun& run);

/// A row a run, with a head: policy, losses, where it was no longer finite, the last gradient norm, how many
/// values of gradients were inf or NaN, skipped steps, loss scale, speed, memory.
std::vector<std::vector<std::string>> comparison_table(std::span<const TrainedRun> runs);

/// An HTML page of the runs: the table; loss and loss scale by step; the first run's gradients by their
/// powers of two, with what f16 flushes to zero.
std::string train_page(std::span<const TrainedRun> runs);

/// What a run came to, for --json.
Json run_json(const TrainedRun& run);

}  // namespace precast::cli
