// --shard and --merge: split the measurements of a command between processes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <casting/measure.hpp>

namespace precast::cli {

/// The part of a sweep that this process runs, as given by --shard.
struct SweepPart {
  casting::Shard shard;      ///< everything without --shard
  bool names_files = false;  ///< --shard auto: file names get the part's number
  bool is_given = false;

  /// Throws UsageError if this process is one of several ranks and --shard auto is not given: all ranks
  /// would run the same part.
  void check_ranks() const;
  /// Throws UsageError, on all ranks of --shard auto, if there are more ranks than `count` of `things`: a
  /// rank with nothing to do would end with an error, and mpirun would stop the others.
  void check_ranks_have(std::int64_t count, const std::string& things) const;

  /// The value of --device for this process: with --shard auto under mpirun or srun, a device per rank.
  /// Throws UsageError, and InputError if the environment does not give the rank.
  std::string device(const std::string& wanted) const;
};

/// Adds --shard I/N|auto, with the command's own description.
CLI::Option* add_shard_option(CLI::App& command, SweepPart& part, const std::string& description);

/// Parses "2/4", the second of four, or "auto", the part given by the rank under Slurm or mpirun. Throws
/// UsageError, and InputError for "auto" without ranks.
casting::Shard parse_shard(const std::string& text);

/// The file of a part: "cost-2-of-4.json" for "cost.json" and 2/4.
std::string part_file(const std::string& file, const casting::Shard& shard);

/// Throws UsageError if --merge names a file twice, which adds nothing: another was probably meant.
void check_each_file_once(std::span<const std::string> merged);

/// Throws UsageError if --merge is combined with an option not in `of_merging`, which would have no effect.
void check_merge_alone(const CLI::App& command, std::span<const std::string_view> of_merging);

}  // namespace precast::cli
