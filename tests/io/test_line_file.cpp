// LineFile: a file that grows by whole lines, and is one writer's.
#include <optional>
#include <string>

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
  CHECK(refusal(path, [&] { io::LineFile{path}; }).find("another run writes it") != std::string::npos);
  first->append("two");
  CHECK(read_text(path) == "one\ntwo\n");
  first.reset();
  io::LineFile second(path, "one\n");
  second.append("three");
  CHECK(read_text(path) == "one\nthree\n");
}
