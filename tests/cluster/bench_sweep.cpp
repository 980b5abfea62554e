// A sweep of a benchmark as ranks of MPI.
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "ranks.hpp"

using program::run;
using program::Scratch;

TEST_CASE("ranks of a benchmark that have no parts are refused in one line") {
  const Scratch scratch;
  const std::string output = (scratch.path() / "all.json").string();
  ranks::refused_without_parts({"bench", "lm", "--sizes", "tiny", "--contexts", "16", "--json", output});
  ranks::refused_without_parts({"bench", "attention", "--json", output});
  CHECK(std::filesystem::is_empty(scratch.path()));
}

TEST_CASE("ranks of a benchmark have a share of their machine's memory each") {
  const Scratch scratch;
  const auto refused = run({"bench", "lm", "--sizes", "2.7B", "--contexts", "8192", "--batch", "1024",
                            "--policies", "f32,bf16", "--steps", "1", "--device", "cpu", "--shard", "auto"},
                           "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_SIZE=2");
  INFO(refused.err);
  CHECK(refused.code == 1);
  CHECK_THAT(refused.err, Catch::Contains("are free for each of the 2 ranks on this machine"));
}

TEST_CASE("bench lm --shard auto of two ranks, merged, has the cases of the whole", "[mpi]") {
  const Scratch scratch;
  const std::string folder = scratch.path().string() + "/";
  const std::vector<std::string> bench{"bench",      "lm",       "--sizes",   "tiny", "--contexts", "16,32",
                                       "--warmup",   "0",        "--steps",   "1",    "--batch",    "1",
                                       "--policies", "f32,bf16", "--threads", "1",    "--quiet",    "--json"};
  auto whole = bench, part = bench;
  whole.push_back(folder + "whole.json");
  REQUIRE(run(whole).code == 0);
  part.insert(part.end(), {folder + "part.json", "--shard", "auto"});
  const auto parts = run(part, ranks::mpirun(2));
  INFO(parts.err);
  REQUIRE(parts.code == 0);
  part.insert(part.end(), {"--device", "cuda"});
  CHECK_THAT(run(part, ranks::second_of_two).err, Catch::Contains("device cuda:1 cannot be used"));
  const std::string first = folder + "part-1-of-2.json", second = folder + "part-2-of-2.json";
  REQUIRE(run({"bench", "lm", "--quiet", "--json", folder + "merged.json", "--merge", second, first}).code ==
          0);
  const auto rows = [](const std::string& file) {
    return nlohmann::json::parse(program::content(file))["rows"];
  };
  CHECK(rows(first).size() == 2);
  CHECK(rows(second).size() == 2);
  const auto one = rows(folder + "whole.json"), merged = rows(folder + "merged.json");
  REQUIRE(merged.size() == one.size());
  for (std::size_t i = 0; i < one.size(); ++i)
    for (const char* key : {"case", "model", "context_length", "policy", "status", "needed (MiB)"})
      CHECK(merged[i][key] == one[i][key]);
}
