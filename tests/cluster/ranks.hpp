// Starts the built program as several ranks of MPI; and ranks as threads of a test.
#pragma once

#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <support/temporary_folder.hpp>
#include <support/thread_ranks.hpp>

#include "cli/program.hpp"

namespace ranks {

/// What goes in front of the program so that mpirun starts it `count` times on this machine, whatever its
/// cores and whoever runs the test.
inline std::string mpirun(int count) {
  // Two runs that share the folder of Open MPI's sessions can end it for each other: one starts as one ends.
  static const precast::testing::TemporaryFolder sessions;
  return "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
         "OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_orte_tmpdir_base=" +
         program::quoted(sessions.path().string()) + " " + program::quoted(PRECAST_MPIEXEC) + " -n " +
         std::to_string(count) + " --oversubscribe";
}

/// What mpirun tells the second of two processes of a machine, for a run of it alone, and without devices.
inline constexpr const char* second_of_two =
    "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 CUDA_VISIBLE_DEVICES=";

/// Runs a command of a sweep as the first of three ranks, without --shard.
inline void refused_without_parts(const std::vector<std::string>& command) {
  const auto refused = program::run(command, "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=3");
  INFO(refused.err);
  CHECK(refused.code == 2);
  CHECK(refused.one_line_error());
  CHECK_THAT(refused.err, Catch::Contains("3 ranks were started (OMPI_COMM_WORLD_RANK)") &&
                              Catch::Contains("give --shard auto for a part each, or start one process"));
}

}  // namespace ranks
