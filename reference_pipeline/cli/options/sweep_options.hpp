// --shard and --merge: commands that measure many things, each process a part of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <casting/measure.hpp>

namespace precast::cli {

/// Which part of a sweep a process is, as --shard has it.
struct SweepPart {
  casting::Shard shard;      ///< the whole where it is not given
  bool names_files = false;  ///< --shard auto: the files' names say which part they are
  bool is_given = false;

  /// Throws UsageError where this process is one of several ranks and has no part of its own (by --shard
  /// auto): all would do the same.
  void check_ranks() const;
  /// Throws UsageError, in all ranks of --shard auto, where there are more than `count` of `things`: one that
  /// has nothing to do ends with an error, and mpirun then stops those that have.
  void check_ranks_have(std::int64_t count, const std::string& things) const;

  /// What --device is for this process: of --shard auto under mpirun or srun a device of its own. Throws
  /// UsageError, and InputError where the environment does not say which.
  std::string device(const std::string& wanted) const;
};

/// Adds --shard I/N|auto, with the command's own description.
CLI::Option* add_shard_option(CLI::App& command, SweepPart& part, const std::string& description);

/// "2/4", the second of four, from 1; "auto": the part that Slurm or mpirun made of this process. Throws
/// UsageError, and InputError where they made none.
casting::Shard parse_shard(const std::string& text);

/// The file of a part, beside those of the others: "cost.json" of 2/4 is "cost-2-of-4.json".
std::string part_file(const std::string& file, const casting::Shard& shard);

/// Throws UsageError where --merge has a file twice: it adds nothing beside itself, so another was meant.
void check_each_file_once(std::span<const std::string> merged);

/// Throws UsageError where an option is given beside --merge that is none of these: it would do nothing.
void check_merge_alone(const CLI::App& command, std::span<const std::string_view> of_merging);

}  // namespace precast::cli
