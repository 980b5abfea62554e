// LineFile: a file that grows by whole lines, and is one writer's.
#include <atomic>
#include <barrier>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <io/input_errors.hpp>
#include <support/temporary_folder.hpp>

#include <precast/io/line_file.hpp>

using namespace precast;
using precast::testing::read_text;
using precast::testing::refusal;
using precast::testing::TemporaryFolder;

TEST_CASE("a file of lines that is being written is left to its writer") {
  const TemporaryFolder folder;
  const auto path = folder.path() / "log.jsonl";
  std::optional<io::LineFile> first(std::in_place, path);
  first->append("one");
  CHECK(refusal(path, [&] { io::LineFile{path}; }).find("another run is writing it") != std::string::npos);
  first->append("two");
  CHECK(read_text(path) == "one\ntwo\n");
  first.reset();
  io::LineFile second(path, "one\n");
  second.append("three");
  CHECK(read_text(path) == "one\nthree\n");
}

TEST_CASE("of several that begin a file of lines at once one has it, whether it was there or not") {
  const TemporaryFolder folder;
  constexpr int writers = 4;
  for (int round = 0; round < 200; ++round) {
    INFO(round);
    const auto path = folder.path() / ("log" + std::to_string(round / 2));
    std::atomic<int> count = 0;
    std::barrier together(writers);
    std::vector<std::jthread> threads;
    for (int i = 0; i < writers; ++i)
      threads.emplace_back([&] {
        std::optional<io::LineFile> file;
        together.arrive_and_wait();
        try {
          file.emplace(path);
          ++count;
          file->append("one");
        } catch (const InputError&) {
        }
        together.arrive_and_wait();
      });
    threads.clear();
    REQUIRE(count == 1);
    REQUIRE(read_text(path) == "one\n");
  }
}
