// --shard and --merge: split the measurements of a command between processes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <cluster/launch.hpp>

namespace precast::cli {

using cluster::SweepPart;

/// Adds --shard I/N|auto, with the command's own description.
CLI::Option* add_shard_option(CLI::App& command, SweepPart& part, const std::string& description);

/// Parses "2/4", the second of four, or "auto", the part given by the rank under Slurm or mpirun. Throws
/// UsageError, and InputError for "auto" without ranks.
SweepPart parse_shard(const std::string& text);

/// Throws UsageError if this process is one of several ranks and its part is not from the environment: all
/// ranks would run the same part.
void check_ranks(const SweepPart& part);

/// Throws UsageError if this process is one of several ranks, for a command whose work has no parts.
void require_one_process();

/// Which of `count` of `things` are the part's. Throws UsageError if none are, and on all ranks of --shard
/// auto if there are more of them than things: one with nothing to do would end with an error, and mpirun
/// would stop the others.
std::vector<std::int64_t> places_of(const SweepPart& part, std::int64_t count, const std::string& things);

/// The value of --device for this process: with --shard auto under mpirun or srun, a device per rank.
/// Throws UsageError, and InputError if the environment does not give the rank.
std::string device_of(const SweepPart& part, const std::string& wanted);

/// How many ranks of this process's machine do parts with it: 1 without --shard auto, and where the
/// environment does not say.
std::int64_t ranks_of_machine(const SweepPart& part);

/// The file that the part writes for `file`: with --shard auto "cost-2-of-4.json" for "cost.json" and 2/4.
std::string file_of(const SweepPart& part, const std::string& file);

/// Throws UsageError if --merge names a file twice, which adds nothing: another was probably meant.
void check_each_file_once(std::span<const std::string> merged);

/// Throws UsageError if --merge is combined with an option not in `of_merging`, which would have no effect.
void check_merge_alone(const CLI::App& command, std::span<const std::string_view> of_merging);

}  // namespace precast::cli
