// How this process was started: alone, or as one of several by mpirun or srun; and which part of a sweep it
// is.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace precast::cluster {

/// One of several processes, as its environment has it.
struct Launch {
  std::int64_t rank = 0, size = 1;
  std::string by;                     ///< the variable that says so; empty where none does
  std::optional<std::int64_t> place;  ///< among those of its machine, where the environment has it
};

/// What mpirun (OMPI_COMM_WORLD_RANK, or PMI_RANK of other MPIs) or srun (SLURM_PROCID of a step of several
/// tasks) say. Throws InputError that names a variable that makes no sense.
Launch launched();

/// Whether there are several of it, without memory of its own: it may be asked before anything else is ready.
bool is_one_of_several() noexcept;

/// How long a rank that is told to stop may wait for the others, which may be gone: mpirun kills it after a
/// second, or as many as OMPI_MCA_odls_base_sigkill_timeout has, and before that it says why it ended.
std::chrono::milliseconds patience_with_others();

/// Which part of a sweep: `index` of `count`, from 0.
struct Part {
  std::int64_t index = 0, count = 1;
};

/// The task of a Slurm array (SLURM_ARRAY_TASK_ID among SLURM_ARRAY_TASK_COUNT), and in it the rank. Throws
/// InputError where the process is neither, or the array's numbers are not evenly spaced.
Part part_of_sweep();

}  // namespace precast::cluster
