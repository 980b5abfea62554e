// How this process was started: alone, or as one of several by mpirun or srun; and which part of a sweep it
// is.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace precast::cluster {

/// This process among those that were started together, from its environment.
struct Launch {
  std::int64_t rank = 0, size = 1;
  std::string by;                          ///< the variable that gave the rank; empty where none is set
  std::optional<std::int64_t> place;       ///< the rank on its machine, where the environment has it
  std::optional<std::int64_t> on_machine;  ///< how many ranks its machine has, likewise
};

/// Reads what mpirun (OMPI_COMM_WORLD_RANK, or PMI_RANK for other MPIs) or srun (SLURM_PROCID, in a step of
/// several tasks) set. Throws InputError that names a variable with an invalid value.
Launch launched();

/// Whether several processes were started. Allocates nothing, so it may be called before anything is ready.
bool is_one_of_several() noexcept;

/// Whether srun started this process as a task of a step, so that its parent is Slurm's slurmstepd. Allocates
/// nothing either.
bool is_started_by_srun() noexcept;

/// How long a rank that is told to stop may wait for the others, which may be gone. mpirun kills it after
/// one second, or OMPI_MCA_odls_base_sigkill_timeout seconds; the rank reports why it ended before that.
std::chrono::milliseconds grace_period();

/// One of the `count` parts of a sweep: its items `index`, from 0, `index` + `count`, ….
struct SweepPart {
  std::int64_t index = 0, count = 1;
  bool from_environment = false;  ///< what started this process gave the part

  /// Which of `items` are the part's. They are strided, since a model's later layers have fewer left to run.
  std::vector<std::int64_t> places(std::int64_t items) const;
};

/// This process's part: one for each rank of each Slurm array task (SLURM_ARRAY_TASK_ID), or for each rank.
/// Throws InputError for a process with neither, or where the array's task numbers are not evenly spaced.
SweepPart part_of_sweep();

}  // namespace precast::cluster
