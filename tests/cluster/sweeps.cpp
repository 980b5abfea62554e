// Which part of a sweep a process is, from what Slurm and mpirun say; and parts that are the whole.
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <cli/options/sweep_options.hpp>
#include <cluster/launch.hpp>

#include <precast/error.hpp>

#include "ranks.hpp"

using namespace precast::cluster;
using program::run;
using program::Scratch;

namespace {

/// Variables of the environment while it lives; those of a job that runs this test are out of sight.
class Environment {
 public:
  explicit Environment(std::map<std::string, std::string> set) {
    for (const char* name :
         {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
          "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
          "SLURM_STEP_NUM_NODES", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID",
          "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP",
          "SLURM_ARRAY_TASK_COUNT", "OMPI_MCA_odls_base_sigkill_timeout", "CUDA_VISIBLE_DEVICES"}) {
      if (const char* old = std::getenv(name)) before_[name] = old;
      unsetenv(name);
    }
    for (const auto& [name, value] : set) {
      set_.push_back(name);
      setenv(name.c_str(), value.c_str(), 1);
    }
  }
  ~Environment() {
    for (const std::string& name : set_) unsetenv(name.c_str());
    for (const auto& [name, value] : before_) setenv(name.c_str(), value.c_str(), 1);
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  std::vector<std::string> set_;
  std::map<std::string, std::string> before_;
};

}  // namespace

TEST_CASE("a process is the rank that mpirun or srun says") {
  const auto launch_in = [](const std::map<std::string, std::string>& set) {
    const Environment environment(set);
    const Launch launch = launched();
    return std::vector<std::int64_t>{launch.rank, launch.size};
  };
  using Numbers = std::vector<std::int64_t>;
  CHECK(launch_in({}) == Numbers{0, 1});
  CHECK(launch_in({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"SLURM_PROCID", "0"}}) ==
        Numbers{2, 4});
  CHECK(launch_in({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}) == Numbers{1, 2});
  CHECK(launch_in({{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "3"}}) == Numbers{1, 3});
  CHECK(launch_in({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}) == Numbers{0, 1});  // a batch script itself
  CHECK_THROWS_WITH(launch_in({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}}), Catch::Contains("PMI_RANK is 2"));
  CHECK_THROWS_WITH(launch_in({{"PMI_RANK", "-1"}, {"PMI_SIZE", "2"}}), Catch::Contains("'-1'"));
  CHECK(launch_in({{"PMI_RANK", "5"}, {"PMI_SIZE", "2147483647"}}) == Numbers{5, 2147483647});
  for (const char* size : {"2147483648", "9223372036854775807", "99999999999999999999"})
    CHECK_THROWS_WITH(launch_in({{"PMI_RANK", "1"}, {"PMI_SIZE", size}}),
                      Catch::Contains(std::string("PMI_SIZE is '") + size) &&
                          Catch::Contains("not a whole number from 1 to 2147483647"));
}

TEST_CASE("of several ranks each takes the device of its place on its machine") {
  const auto device = [](const std::string& wanted, std::map<std::string, std::string> set,
                         bool of_sweep = true) {
    const Environment environment(std::move(set));
    return precast::cli::device_of({0, 1, of_sweep}, wanted);
  };
  const auto with = [](std::map<std::string, std::string> set, const std::string& visible) {
    set["CUDA_VISIBLE_DEVICES"] = visible;
    return set;
  };
  const std::map<std::string, std::string> sixth{{"OMPI_COMM_WORLD_RANK", "5"},
                                                 {"OMPI_COMM_WORLD_SIZE", "8"},
                                                 {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                                 {"SLURM_PROCID", "0"},
                                                 {"SLURM_LOCALID", "0"}};
  CHECK(device("cuda", sixth) == "cuda:1");
  CHECK(device("cuda", {{"PMI_RANK", "6"}, {"PMI_SIZE", "8"}, {"MPI_LOCALRANKID", "2"}}) == "cuda:2");
  CHECK(device("cuda", {{"SLURM_PROCID", "7"}, {"SLURM_STEP_NUM_TASKS", "8"}, {"SLURM_LOCALID", "3"}}) ==
        "cuda:3");
  CHECK(
      device("cuda", {{"PMI_RANK", "7"}, {"PMI_SIZE", "8"}, {"SLURM_PROCID", "7"}, {"SLURM_LOCALID", "3"}}) ==
      "cuda:3");
  CHECK(device("cuda", with(sixth, "4,5")) == "cuda:1");
  CHECK(device("cuda", with(sixth, "5")) == "cuda:0");  // its own
  CHECK(device("cuda", with(sixth, "")) == "cuda:1");   // none, and so refused where it is looked for
  CHECK(device("auto", sixth) == "cpu");
  CHECK(device("cpu", sixth) == "cpu");
  CHECK_THROWS_WITH(device("cuda:1", sixth), Catch::Contains("there are several ranks: give --device cuda"));
  CHECK_THROWS_WITH(device("cuda", {{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}),
                    Catch::Contains("not which of its machine's processes this one is"));
  // One process, and one that no --shard auto put beside others, as it is told.
  for (const char* wanted : {"auto", "cpu", "cuda", "cuda:1"}) {
    CHECK(device(wanted, {{"SLURM_ARRAY_TASK_ID", "2"}, {"SLURM_ARRAY_TASK_COUNT", "4"}}) == wanted);
    CHECK(device(wanted, sixth, false) == wanted);
  }
}

TEST_CASE("a part of a sweep is the task of an array, and the rank in it") {
  const auto part_in = [](const std::map<std::string, std::string>& set) {
    const Environment environment(set);
    const SweepPart part = part_of_sweep();
    return std::vector<std::int64_t>{part.index, part.count};
  };
  using Numbers = std::vector<std::int64_t>;
  std::map<std::string, std::string> array{{"SLURM_ARRAY_TASK_ID", "7"},
                                           {"SLURM_ARRAY_TASK_MIN", "3"},
                                           {"SLURM_ARRAY_TASK_STEP", "2"},
                                           {"SLURM_ARRAY_TASK_COUNT", "3"}};
  CHECK(part_in(array) == Numbers{2, 3});
  array["OMPI_COMM_WORLD_RANK"] = "1";
  array["OMPI_COMM_WORLD_SIZE"] = "2";
  CHECK(part_in(array) == Numbers{5, 6});
  array["SLURM_ARRAY_TASK_ID"] = "6";
  CHECK_THROWS_WITH(part_in(array), Catch::Contains("number them evenly"));
  array["SLURM_ARRAY_TASK_ID"] = "9";
  CHECK_THROWS_WITH(part_in(array), Catch::Contains("number them evenly"));
  // As Slurm has it of --array=1,3,5 and of 1,2,5, whose second task is in no place.
  const auto of_list = [&](const char* task) {
    return part_in({{"SLURM_ARRAY_TASK_ID", task},
                    {"SLURM_ARRAY_TASK_MIN", "1"},
                    {"SLURM_ARRAY_TASK_MAX", "5"},
                    {"SLURM_ARRAY_TASK_STEP", "1"},
                    {"SLURM_ARRAY_TASK_COUNT", "3"}});
  };
  CHECK(of_list("1") == Numbers{0, 3});
  CHECK(of_list("3") == Numbers{1, 3});
  CHECK(of_list("5") == Numbers{2, 3});
  CHECK_THROWS_WITH(of_list("2"), Catch::Contains("number them evenly"));
  // A task that is run again alone does not say how many there were.
  array = {{"SLURM_ARRAY_TASK_ID", "3"},
           {"SLURM_ARRAY_TASK_MIN", "3"},
           {"SLURM_ARRAY_TASK_STEP", "1"},
           {"SLURM_ARRAY_TASK_COUNT", "1"}};
  CHECK_THROWS_WITH(part_in(array), Catch::Contains("task 3 is alone in its Slurm array"));
  array["SLURM_ARRAY_TASK_ID"] = array["SLURM_ARRAY_TASK_MIN"] = "1";
  CHECK(part_in(array) == Numbers{0, 1});
  CHECK(part_in({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}}) == Numbers{1, 4});
  CHECK_THROWS_AS(part_in({}), precast::InputError);
}

TEST_CASE("a sweep has as many parts by its environment as by --shard I/N") {
  const auto shard_in = [](const char* tasks, const char* ranks) {
    const Environment environment({{"SLURM_ARRAY_TASK_ID", "1"},
                                   {"SLURM_ARRAY_TASK_MIN", "1"},
                                   {"SLURM_ARRAY_TASK_COUNT", tasks},
                                   {"PMI_RANK", "1"},
                                   {"PMI_SIZE", ranks}});
    return precast::cli::parse_shard("auto").count;
  };
  CHECK(shard_in("2048", "2") == 4096);
  CHECK_THROWS_WITH(shard_in("2049", "2"),
                    Catch::Contains("one of 4098") && Catch::Contains("at most 4096 parts: start fewer"));
  CHECK_THROWS_WITH(shard_in("2147483647", "2147483647"), Catch::Contains("one of 4611686014132420609"));
}

TEST_CASE("who started a rank, and how many share its machine, is in the environment") {
  using Started = std::pair<bool, std::int64_t>;
  const auto started_in = [](const std::map<std::string, std::string>& set) {
    const Environment environment(set);
    return Started(is_started_by_srun(), launched().on_machine.value_or(0));
  };
  std::map<std::string, std::string> variables{
      {"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "5"}, {"SLURM_STEP_NUM_NODES", "2"}};
  CHECK(started_in({}) == Started(false, 0));
  CHECK(started_in(variables) == Started(true, 3));
  const std::map<std::string, std::string> of_pmi2{{"PMI_RANK", "1"}, {"PMI_SIZE", "5"}};
  CHECK(started_in(of_pmi2) == Started(false, 0));
  variables.insert(of_pmi2.begin(), of_pmi2.end());
  CHECK(started_in(variables) == Started(true, 3));
  // mpirun in a job of Slurm, as a task of each node.
  variables["PMI_SIZE"] = "8";
  variables["MPI_LOCALNRANKS"] = "4";
  CHECK(started_in(variables) == Started(false, 4));
  variables.insert(
      {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "5"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  CHECK(started_in(variables) == Started(false, 2));
}

TEST_CASE("a rank that is to stop says why before mpirun kills it") {
  const auto grace_period_in = [](const std::map<std::string, std::string>& set) {
    const Environment environment(set);
    return grace_period().count();
  };
  const std::string seconds = "OMPI_MCA_odls_base_sigkill_timeout";
  CHECK(grace_period_in({}) == 400);
  CHECK(grace_period_in({{seconds, "0"}}) == 400);
  CHECK(grace_period_in({{seconds, "60"}}) == 24000);
}

TEST_CASE("ranks of a command that has no parts are refused in one line") {
  const Scratch scratch;
  const std::string folder = scratch.path().string() + "/";
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"generate", "--prompt", "a red circle", "--output", folder + "a.png"},
        {"record", "--prompt", "a red circle", "--output", folder + "a.safetensors"}}) {
    const auto refused = run(command, "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2");
    INFO(refused.err);
    CHECK(refused.code == 2);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err, Catch::Contains("2 ranks were started (OMPI_COMM_WORLD_RANK)") &&
                                Catch::Contains("start one process, or unset OMPI_COMM_WORLD_RANK"));
  }
  CHECK(std::filesystem::is_empty(scratch.path()));
}

TEST_CASE("ranks of a sweep that have no parts are refused in one line") {
  const Scratch scratch;
  const std::string output = (scratch.path() / "all.png").string();
  ranks::refused_without_parts({"cost", "--merge", output, "--output", output});
  ranks::refused_without_parts({"compare", "--prompt", "a ring", "--output", output});
  CHECK(std::filesystem::is_empty(scratch.path()));
}

TEST_CASE("ranks that are all given the same part of a sweep are refused in one line") {
  const Scratch scratch;
  const std::string output = (scratch.path() / "part.json").string();
  for (const char* part : {"1/2", "2/3"}) {
    const auto refused =
        run({"compare", "--model", "shapes", "--prompt", "a ring", "--shard", part, "--output", output},
            "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2");
    INFO(refused.err);
    CHECK(refused.code == 2);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err, Catch::Contains("2 ranks were started (OMPI_COMM_WORLD_RANK), and each would do "
                                            "that part, over the others' files: give --shard auto"));
  }
  CHECK(std::filesystem::is_empty(scratch.path()));
}

TEST_CASE("more ranks than policies are refused before any of them works") {
  const Scratch scratch;
  const auto refused = run({"compare", "--model", "shapes", "--prompt", "a ring", "--policies", "f32,bf16",
                            "--shard", "auto", "--output", (scratch.path() / "part.json").string()},
                           "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=3");
  INFO(refused.err);
  CHECK(refused.code == 2);
  CHECK(refused.one_line_error());
  CHECK_THAT(refused.err, Catch::Contains("3 parts of 2 policies: start no more ranks than policies"));
  CHECK(std::filesystem::is_empty(scratch.path()));
}

TEST_CASE("cost --shard auto of three ranks, merged, is the whole", "[mpi]") {
  const Scratch scratch;
  const std::string model = std::string(PRECAST_SOURCE_DIR) + "/tests/golden/models/dev_f32",
                    folder = scratch.path().string() + "/", samples = folder + "samples.safetensors";
  REQUIRE(run({"record", "--model", model, "--prompt", "a red circle", "--width", "32", "--height", "16",
               "--steps", "4", "--every", "2", "--max-sequence-length", "8", "--precision", "f32", "--output",
               samples})
              .code == 0);
  const std::vector<std::string> cost{"cost",     "--model", model,      "--samples", samples,     "--types",
                                      "fp8_e4m3", "--quiet", "--policy", "f32",       "--threads", "1"};
  auto whole = cost, part = cost;
  whole.insert(whole.end(), {"--output", folder + "whole.json"});
  REQUIRE(run(whole).code == 0);
  part.insert(part.end(), {"--output", folder + "part.json", "--shard", "auto"});
  const auto parts = run(part, ranks::mpirun(3));
  INFO(parts.err);
  REQUIRE(parts.code == 0);
  // The second process of its machine looks for the second device: without one it ends.
  part.insert(part.end(), {"--device", "cuda"});
  const auto second = run(part, ranks::second_of_two);
  CHECK(second.code == 1);
  CHECK(second.one_line_error());
  CHECK_THAT(second.err, Catch::Contains("device cuda:1 cannot be used"));
  part.resize(part.size() - 2);
  std::vector<std::string> merge{"cost", "--output", folder + "merged.json", "--merge"};
  for (const char* number : {"1", "2", "3"}) merge.push_back(folder + "part-" + number + "-of-3.json");
  REQUIRE(run(merge).code == 0);
  CHECK(program::content(folder + "merged.json") == program::content(folder + "whole.json"));
  const auto alone = run(part);
  CHECK(alone.code == 1);
  CHECK(alone.one_line_error());
  CHECK_THAT(alone.err, Catch::Contains("sbatch --array"));
}

TEST_CASE("compare --shard auto of two ranks, merged, is the whole", "[mpi]") {
  const Scratch scratch;
  const std::string folder = scratch.path().string() + "/";
  const std::vector<std::string> compare{"compare", "--model",    "shapes",       "--prompt",  "a red ring",
                                         "--width", "64",         "--height",     "64",        "--steps",
                                         "1",       "--policies", "f32,bf16,f16", "--threads", "1",
                                         "--quiet", "--output"};
  auto whole = compare, part = compare;
  whole.insert(whole.end(), {folder + "whole.png", "--json"});
  const auto one = run(whole);
  INFO(one.err);
  REQUIRE(one.code == 0);
  part.insert(part.end(), {folder + "part.json", "--shard", "auto"});
  const auto parts = run(part, ranks::mpirun(2));
  INFO(parts.err);
  REQUIRE(parts.code == 0);
  part.insert(part.end(), {"--device", "cuda"});
  CHECK_THAT(run(part, ranks::second_of_two).err, Catch::Contains("device cuda:1 cannot be used"));
  const auto merged = run({"compare", "--json", "--quiet", "--output", folder + "merged.png", "--merge",
                           folder + "part-1-of-2.json", folder + "part-2-of-2.json"});
  INFO(merged.err);
  REQUIRE(merged.code == 0);
  for (std::size_t i = 0; i < 3; ++i)
    for (const char* key : {"name", "psnr", "mse"})
      CHECK(merged.json()["policies"][i][key] == one.json()["policies"][i][key]);
}
