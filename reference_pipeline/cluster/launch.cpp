#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>

#include <cluster/launch.hpp>

#include <precast/error.hpp>
#include <precast/io/message.hpp>
#include <precast/io/number_text.hpp>

namespace precast::cluster {

namespace {

/// A launcher's environment variables: the rank, the number of ranks, and both on this machine.
struct Names {
  const char *rank, *size, *place, *on_machine;
};
constexpr Names starters[]{{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
                            "OMPI_COMM_WORLD_LOCAL_SIZE"},
                           {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
                           {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", ""}};

/// The most that MPI, which counts ranks in int, and Slurm can mean.
constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();

/// The value of an integer environment variable; nothing where it is unset or empty. Throws InputError for
/// a value that is no integer from `low` to `most`.
std::optional<std::int64_t> variable(const char* name, std::int64_t low) {
  const char* const value = std::getenv(name);
  if (!value || !*value) return std::nullopt;
  const std::string_view text(value);
  const auto number = io::number_in<std::int64_t>(text);
  if (!number || *number < low || *number > most)
    throw InputError(std::string("the environment variable ") + name + " is '" + io::printable(text, 40) +
                     "', which is not a whole number from " + std::to_string(low) + " to " +
                     std::to_string(most) + ": start the program by mpirun or srun, or unset it");
  return number;
}

}  // namespace

bool is_one_of_several() noexcept {
  for (const Names& names : starters) {
    const char* const size = std::getenv(names.size);
    if (size && *size) return std::string_view(size) != "1";
  }
  return false;
}

bool is_started_by_srun() noexcept {
  for (const Names& names : starters) {
    const char* const size = std::getenv(names.size);
    if (!size || !*size) continue;
    // mpirun of Open MPI runs in a job of Slurm too, whose variables it leaves to the ranks. srun --mpi=pmi2
    // sets PMI's variables beside Slurm's.
    const char* const tasks = std::getenv("SLURM_STEP_NUM_TASKS");
    return &names != &starters[0] && tasks && std::string_view(tasks) == size;
  }
  return false;
}

Launch launched() {
  for (const Names& names : starters) {
    const auto rank = variable(names.rank, 0), size = variable(names.size, 1);
    if (!rank || !size) continue;
    if (*rank >= *size)
      throw InputError(std::string("the environment variable ") + names.rank + " is " +
                       std::to_string(*rank) + ", and " + names.size + " is " + std::to_string(*size) +
                       ": start the program by mpirun or srun, or unset them");
    auto place = variable(names.place, 0);
    // srun --mpi=pmi2 sets PMI's rank and Slurm's local rank.
    if (!place && variable("SLURM_PROCID", 0) == rank) place = variable("SLURM_LOCALID", 0);
    // Slurm has the tasks of each node only in a notation of its own; by default it spreads them evenly.
    auto on_machine = variable(names.on_machine, 1);
    if (!on_machine && is_started_by_srun())
      if (const auto nodes = variable("SLURM_STEP_NUM_NODES", 1)) on_machine = (*size + *nodes - 1) / *nodes;
    return {*rank, *size, names.rank, place, on_machine};
  }
  return {};
}

std::chrono::milliseconds grace_period() {
  constexpr std::chrono::milliseconds least(400);
  const std::chrono::seconds left(variable("OMPI_MCA_odls_base_sigkill_timeout", 0).value_or(1));
  return std::max(least, std::chrono::milliseconds(left) * 2 / 5);  // leaves time for a checkpoint
}

std::vector<std::int64_t> SweepPart::places(std::int64_t items) const {
  std::vector<std::int64_t> own;
  for (std::int64_t place = index; place < items; place += count) own.push_back(place);
  return own;
}

SweepPart part_of_sweep() {
  const Launch launch = launched();
  const auto task = variable("SLURM_ARRAY_TASK_ID", 0);
  if (!task) {
    if (launch.by.empty())
      throw InputError(
          "this process is not part of a sweep, since neither SLURM_ARRAY_TASK_ID nor OMPI_COMM_WORLD_RANK "
          "is "
          "set: start it by sbatch --array or mpirun, or write the part as I/N");
    return {launch.rank, launch.size, true};
  }
  const std::int64_t first = variable("SLURM_ARRAY_TASK_MIN", 0).value_or(*task),
                     count = variable("SLURM_ARRAY_TASK_COUNT", 1).value_or(1);
  std::int64_t step = variable("SLURM_ARRAY_TASK_STEP", 1).value_or(1);
  // For a list, such as --array=1,3,5, Slurm reports a step of 1.
  if (const auto last = variable("SLURM_ARRAY_TASK_MAX", 0); last && count > 1)
    step = std::max<std::int64_t>(1, (*last - first) / (count - 1));
  const std::int64_t place = (*task - first) / step;
  if (*task < first || (*task - first) % step != 0 || place >= count)
    throw InputError("task " + std::to_string(*task) + " of a Slurm array of " + std::to_string(count) +
                     " tasks has no place in it: number them evenly, as in --array=1-" +
                     std::to_string(count));
  if (count == 1 && *task > 1)
    throw InputError("task " + std::to_string(*task) +
                     " is alone in its Slurm array, and would be all of the sweep: write its part as I/N, or "
                     "let Slurm run it again by scontrol requeue");
  return {place * launch.size + launch.rank, count * launch.size, true};
}

}  // namespace precast::cluster
