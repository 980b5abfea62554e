// A rank that gives up has its memory back: MPI writes there no more.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <cluster/mpi/mpi_module.hpp>
#include <dlfcn.h>

#include "ranks.hpp"

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using precast::cluster::CommunicationError;
using precast::cluster::SumDtype;

namespace {

constexpr const char* rank_of_test = "one of two ranks whose second comes late";

}  // namespace

TEST_CASE("sums that a rank waits for no longer change nothing of it", "[mpi]") {
  const program::Scratch scratch;
  const std::string line = ranks::mpirun(2) + " --mca orte_abort_on_non_zero_status 0 " +
                           program::quoted(fs::read_symlink("/proc/self/exe").string()) + " " +
                           program::quoted(rank_of_test) + " >/dev/null 2>&1";
  static_cast<void>(std::system(("cd " + program::quoted(scratch.path().string()) + " && " + line).c_str()));
  CHECK(program::content(scratch.path() / "values") == "as they were");
}

// Its ranks end without a word to MPI, as those of the program do.
TEST_CASE(rank_of_test, "[.]") {
  const fs::path module = fs::path(PRECAST_PROGRAM).parent_path() / "precast_mpi.so";
  void* const library = dlopen(module.c_str(), RTLD_NOW | RTLD_GLOBAL);
  REQUIRE(library);
  const auto join = reinterpret_cast<decltype(&precast_join_mpi)>(dlsym(library, "precast_join_mpi"));
  REQUIRE(join);
  const std::function<bool()> told = [] { return true; };
  std::unique_ptr<precast::cluster::MpiJob> job;
  join(&job, &told, 200ms);
  const bool is_late = job->rank() == 1;
  if (is_late) std::this_thread::sleep_for(1s);
  std::vector<float> values(8, 1.0f);
  const auto first = job->start_sum(values.data(), 4, SumDtype::f32),
             second = job->start_sum(values.data() + 4, 4, SumDtype::f32);
  try {
    job->wait(first);
  } catch (const CommunicationError&) {
  }
  if (is_late) std::this_thread::sleep_for(2s);  // mpirun ends both where one ends
  if (is_late) std::_Exit(0);
  CHECK_THROWS_AS(job->wait(second), CommunicationError);
  std::this_thread::sleep_for(1500ms);  // the other has come by then
  std::ofstream("values") << (values == std::vector<float>(8, 1.0f) ? "as they were" : "sums");
  std::_Exit(0);
}
