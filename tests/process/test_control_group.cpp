// Limits of control groups, as both versions of them are laid out.
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <catch2/catch.hpp>
#include <process/control_group.hpp>
#include <process/memory.hpp>
#include <support/temporary_folder.hpp>

using precast::process::left_to_control_groups;
using precast::testing::TemporaryFolder;
using precast::testing::write_text;

namespace {

constexpr std::int64_t mib = 1 << 20;

class Groups {
 public:
  void version_2(const std::string& path, const std::string& limit, std::int64_t used,
                 std::int64_t pages = 0) const {
    const auto group = folder_.path() / "mounted" / path;
    std::filesystem::create_directories(group);
    write_text(group / "memory.max", limit + "\n");
    write_text(group / "memory.current", std::to_string(used) + "\n");
    write_text(group / "memory.stat",
               "anon 1\nfile 5\ninactive_file " + std::to_string(pages) + "\nactive_file 0\n");
  }
  void version_1(const std::string& path, std::int64_t limit, std::int64_t used,
                 std::int64_t pages = 0) const {
    const auto group = folder_.path() / "mounted/memory" / path;
    std::filesystem::create_directories(group);
    write_text(group / "memory.limit_in_bytes", std::to_string(limit) + "\n");
    write_text(group / "memory.usage_in_bytes", std::to_string(used) + "\n");
    write_text(group / "memory.stat",
               "inactive_file 3\ntotal_inactive_file 0\ntotal_active_file " + std::to_string(pages) + "\n");
  }
  std::optional<std::int64_t> left(const std::string& groups) const {
    write_text(folder_.path() / "groups", groups);
    return left_to_control_groups(folder_.path() / "groups", folder_.path() / "mounted");
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("the least that a control group or one above it leaves is what there is") {
  const Groups groups;
  CHECK(groups.left("0::/\n") == std::nullopt);
  groups.version_2("slurm", std::to_string(500 * mib), 100 * mib);
  groups.version_2("slurm/job_1", "max", 90 * mib);
  groups.version_2("slurm/job_1/step_0", std::to_string(200 * mib), 80 * mib);
  CHECK(groups.left("0::/slurm/job_1/step_0\n") == 120 * mib);
  CHECK(groups.left("0::/slurm/job_1\n") == 400 * mib);
  CHECK(groups.left("0::/elsewhere\n") == std::nullopt);
  // A container sees its own group as the root.
  groups.version_2("", std::to_string(60 * mib), 50 * mib);
  CHECK(groups.left("0::/\n") == 10 * mib);
  CHECK(groups.left("0::/slurm/job_1/step_0\n") == 10 * mib);
  CHECK(groups.left("") == 10 * mib);
}

TEST_CASE("pages of files, and a group that is over its limit") {
  const Groups groups;
  groups.version_2("a", std::to_string(100 * mib), 90 * mib, 70 * mib);
  CHECK(groups.left("0::/a\n") == 80 * mib);
  groups.version_2("b", std::to_string(100 * mib), 110 * mib);
  CHECK(groups.left("0::/b\n") == 0);
}

TEST_CASE("control groups of version 1, and of both versions side by side") {
  const Groups groups;
  constexpr std::int64_t no_limit = 9223372036854771712;
  groups.version_1("", no_limit, 900 * mib);
  groups.version_1("docker/x", 150 * mib, 40 * mib, 10 * mib);
  const std::string path = "12:cpuset:/\n4:cpu,memory:/docker/x\n0::/\n";
  CHECK(groups.left(path) == 120 * mib);
  CHECK(groups.left("4:memory:/\n") == std::nullopt);
  CHECK(groups.left("4:memory_other:/docker/x\n") == std::nullopt);
  groups.version_2("unified/docker/x", std::to_string(30 * mib), 10 * mib);
  CHECK(groups.left("4:memory:/docker/x\n0::/docker/x\n") == 20 * mib);
}

TEST_CASE("of processes that begin at once, each has a share of the memory") {
  const auto alone = precast::process::free_memory(), shared = precast::process::free_memory(64);
  REQUIRE(alone);
  REQUIRE(shared);
  CHECK(*shared <= *alone / 16);  // whatever other programs free in the meantime
}
