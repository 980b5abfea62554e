// Loads precast_mpi.so where it is needed: a program that was started alone never looks for it.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cluster/job.hpp>
#include <cluster/launch.hpp>
#include <cluster/mpi/mpi_module.hpp>
#include <cluster/reporter_election.hpp>
#include <dlfcn.h>

#include <precast/error.hpp>
#include <precast/io/message.hpp>

namespace precast::cluster {

namespace {

std::unique_ptr<MpiJob>& current() {
  static std::unique_ptr<MpiJob> job;
  return job;
}

std::optional<ReporterElection>& election() {
  static std::optional<ReporterElection> election;
  return election;
}

/// Loads the module and returns its function. RTLD_GLOBAL, since plugins of MPI use the module's libraries.
decltype(&precast_join_mpi) join_function() {
  namespace fs = std::filesystem;
  std::error_code failed;
  const fs::path folder = fs::read_symlink("/proc/self/exe", failed).parent_path();
  for (const fs::path& place : {folder / "precast_mpi.so",
                                (folder / PRECAST_MPI_FROM_PROGRAM / "precast_mpi.so").lexically_normal()}) {
    if (!fs::exists(place, failed)) continue;
    void* const module = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
    void* const function = module ? dlsym(module, "precast_join_mpi") : nullptr;
    if (function) return reinterpret_cast<decltype(&precast_join_mpi)>(function);
    const char* const reason = dlerror();
    throw InputError(io::shown(place) + ": cannot be loaded (" + std::string(reason ? reason : "no reason") +
                     "): install Open MPI (on Debian: apt-get install libopenmpi3)");
  }
  throw InputError(
      "this build of precast has no MPI, and cannot be one of several ranks: build it where MPI is found (on "
      "Debian: apt-get install libopenmpi-dev), or start it alone");
}

}  // namespace

Communicator& join_job(std::function<bool()> stop_requested) {
  static Alone alone;
  if (current()) return *current();
  const Launch launch = launched();
  if (launch.size == 1) return alone;
  join_function()(&current(), &stop_requested, grace_period());
  const int size = current()->size();
  if (size == launch.size) {
    election().emplace(*current());
    return *current();
  }
  current().reset();
  throw InputError(std::to_string(launch.size) + " processes were started (" + launch.by +
                   "), and MPI knows of " + std::to_string(size) +
                   ": start them by mpirun, or by srun --mpi=pmix");
}

bool is_reported_by_another_rank(bool is_stopped) {
  return election() ? !election()->is_elected(is_stopped) : is_stopped;
}

void end_job(int code) {
  if (current() && code != 0) current()->abort(code);
  current().reset();
}

}  // namespace precast::cluster
