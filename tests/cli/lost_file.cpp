// A mapped file that becomes shorter while it is read.
#include <catch2/catch.hpp>
#include <cli/terminal/lost_file.hpp>
#include <fcntl.h>

#include <precast/io/mapped_file.hpp>

#include "program.hpp"

TEST_CASE("a file that becomes shorter while it is read ends the program with a line that names it") {
  using namespace precast;
  const program::Scratch scratch;
  const std::string file = scratch.file("a model.safetensors", std::string(100'000, 'x'));
  const std::string said = scratch.file("said", "");
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::alarm(30);
    const int error = ::open(said.c_str(), O_WRONLY);
    if (error < 0 || ::dup2(error, STDERR_FILENO) < 0) ::_exit(2);
    cli::handle_lost_files();
    const io::MappedFile mapped{file};
    if (::truncate(file.c_str(), 0) != 0) ::_exit(3);
    const volatile std::byte* const last = mapped.bytes().data() + mapped.bytes().size() - 1;
    ::_exit(std::to_integer<int>(std::byte{*last}));
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 1);
  const program::Outcome outcome{1, "", program::content(said)};
  CHECK(outcome.one_line_error());
  CHECK_THAT(outcome.err, Catch::Contains("a model.safetensors: could not be read to its end"));
}
