// AtomicFile: whole or not at all, also on a full disk and when an exception comes in between.
#include <chrono>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>
#include <io/input_errors.hpp>
#include <support/temporary_folder.hpp>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <precast/io/atomic_file.hpp>

using namespace precast;
using precast::testing::read_text;
using precast::testing::refusal;
using precast::testing::TemporaryFolder;
using precast::testing::write_text;

namespace {

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

/// While it lives, no file can grow beyond a size: what a full disk looks like to a program. SIGXFSZ stays as
/// it is, which ends the process unless AtomicFile holds it.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &previous_);
    const rlimit limit{bytes, previous_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() { ::setrlimit(RLIMIT_FSIZE, &previous_); }

 private:
  rlimit previous_{};
};

}  // namespace

TEST_CASE("atomic file: appears with its whole content at the commit") {
  const TemporaryFolder folder;
  const std::filesystem::path target = folder.path() / "out.png";
  write_text(target, "old");
  {
    io::AtomicFile file(target);
    file.write("new ");
    file.write(std::string(100'000, 'x'));
    CHECK(read_text(target) == "old");
    CHECK(files_in(folder.path()) == 2);
    file.commit();
  }
  CHECK(read_text(target) == "new " + std::string(100'000, 'x'));
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("atomic file: an exception leaves the old file and nothing else") {
  const TemporaryFolder folder;
  const std::filesystem::path target = folder.path() / "out.png";
  write_text(target, "old");
  try {
    io::AtomicFile file(target);
    file.write("half of it");
    throw Error("interrupted");
  } catch (const Error&) {
  }
  CHECK(read_text(target) == "old");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("what helps against a write that failed goes by why it did") {
  CHECK_THAT(io::write_error("a", ENOSPC).what(),
             Catch::Contains("No space left on device: free some space"));
  CHECK_THAT(io::write_error("a", EDQUOT).what(), Catch::Contains("free some space"));
  CHECK_THAT(io::write_error("a", EFBIG).what(), Catch::Contains("File too large: raise the limit"));
  CHECK_THAT(io::write_error("a", EIO).what(), Catch::Contains("Input/output error: check the disk"));
}

TEST_CASE("atomic file: a full disk names the file and leaves nothing half-written") {
  const TemporaryFolder folder;
  const std::filesystem::path target = folder.path() / "out.png";
  std::string message;
  {
    const SmallDisk disk(4096);
    try {
      io::write_file(target, std::string(100'000, 'x'));
    } catch (const InputError& error) {
      message = error.what();
    }
  }
  INFO(message);
  CHECK(message.starts_with(target.string() + ": could not be written: "));
  CHECK(message.find("raise the limit on the size of files") != std::string::npos);
  CHECK(precast::testing::is_one_line(message));
  CHECK(files_in(folder.path()) == 0);
  sigset_t pending{};
  CHECK(::sigpending(&pending) == 0);
  CHECK(::sigismember(&pending, SIGXFSZ) == 0);
}

TEST_CASE("atomic file: places that cannot be written are named before anything is computed for them") {
  const TemporaryFolder folder;
  const std::filesystem::path lost = folder.path() / "no-such-folder" / "out.png";
  CHECK(refusal(lost, [&] { io::AtomicFile{lost}; }).find("cannot be written: No such file") !=
        std::string::npos);
  CHECK(refusal(folder.path(), [&] { io::AtomicFile{folder.path()}; }).find("is a folder") !=
        std::string::npos);
  CHECK(refusal("/dev/null", [&] { io::AtomicFile{"/dev/null"}; }).find("not a regular file") !=
        std::string::npos);
  CHECK_THROWS_AS(io::AtomicFile(""), InputError);
  const std::filesystem::path long_name = folder.path() / std::string(300, 'a');
  CHECK(refusal(long_name, [&] { io::AtomicFile{long_name}; }).find("File name too long") !=
        std::string::npos);
  const std::filesystem::path below_file = folder.path() / "file" / "out.png";
  write_text(folder.path() / "file", "x");
  const std::string not_below = refusal(below_file, [&] { io::AtomicFile{below_file}; });
  CHECK(not_below.find("Not a directory: choose another place") != std::string::npos);
  CHECK(refusal(lost, [&] { io::AtomicFile{lost}; }).find("create its folder") != std::string::npos);
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("atomic file: a file that is replaced hands on its permissions, and a new one has the usual ones") {
  const TemporaryFolder folder;
  const mode_t before = ::umask(022);
  const auto permissions = [](const std::filesystem::path& file) {
    return static_cast<unsigned>(std::filesystem::status(file).permissions());
  };
  for (const unsigned mode : {0640u, 0600u, 0664u, 0755u}) {
    const std::filesystem::path file = folder.path() / "file";
    write_text(file, "old");
    std::filesystem::permissions(file, static_cast<std::filesystem::perms>(mode));
    ::umask(077);
    io::write_file(file, "new");
    ::umask(022);
    CHECK(read_text(file) == "new");
    CHECK(permissions(file) == mode);
  }
  io::write_file(folder.path() / "fresh", "new");
  CHECK(permissions(folder.path() / "fresh") == 0644);
  ::umask(before);
}

TEST_CASE("atomic file: what nobody may write is not replaced, root or not") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "kept";
  write_text(file, "old");
  std::filesystem::permissions(file, std::filesystem::perms(0444));
  CHECK(refusal(file, [&] { io::AtomicFile{file}; }).find("exists and is read-only") != std::string::npos);
  CHECK(read_text(file) == "old");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("atomic file: what a killed process left is swept, what another is writing is not") {
  const TemporaryFolder folder;
  const std::filesystem::path target = folder.path() / "out.png";
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t writer = ::fork();
  if (writer == 0) {
    io::AtomicFile file(target);
    file.write("half");
    static_cast<void>(!::write(ready[1], "x", 1));
    for (;;) ::pause();
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  write_text(folder.path() / ".precast-notes.tmp", "somebody's own");
  write_text(folder.path() / ".precast-1-x.tmp", "somebody's own");
  REQUIRE(files_in(folder.path()) == 3);
  {
    io::AtomicFile mine(folder.path() / "other.png");
    io::sweep_left_over_files(folder.path());
    CHECK(files_in(folder.path()) == 4);  // of a process that lives, and of this one
    mine.commit();
  }
  ::kill(writer, SIGKILL);
  ::waitpid(writer, nullptr, 0);
  CHECK(files_in(folder.path()) == 4);
  io::sweep_left_over_files(folder.path());
  CHECK(files_in(folder.path()) == 3);
  CHECK(std::filesystem::exists(folder.path() / ".precast-notes.tmp"));
  CHECK(std::filesystem::exists(folder.path() / ".precast-1-x.tmp"));
  // Of another machine, whose locks may not be seen from here.
  const std::filesystem::path elsewhere = folder.path() / ".precast-1-2-3.tmp";
  write_text(elsewhere, "half");
  io::sweep_left_over_files(folder.path());
  CHECK(std::filesystem::exists(elsewhere));
  std::filesystem::last_write_time(elsewhere,
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(48));
  io::sweep_left_over_files(folder.path());
  CHECK(!std::filesystem::exists(elsewhere));
  ::close(ready[0]);
  ::close(ready[1]);
  io::sweep_left_over_files(folder.path() / "no such folder");
}

TEST_CASE("atomic file: a link stays a link, and its target is replaced") {
  const TemporaryFolder folder;
  write_text(folder.path() / "real.txt", "old");
  std::filesystem::create_symlink("real.txt", folder.path() / "link.txt");
  io::write_file(folder.path() / "link.txt", "new");
  CHECK(std::filesystem::is_symlink(folder.path() / "link.txt"));
  CHECK(read_text(folder.path() / "real.txt") == "new");
  std::filesystem::create_directories(folder.path() / "sub");
  std::filesystem::create_symlink("../not yet.txt", folder.path() / "sub" / "first");
  std::filesystem::create_symlink("sub/first", folder.path() / "second");
  io::write_file(folder.path() / "second", "made");
  CHECK(std::filesystem::is_symlink(folder.path() / "second"));
  CHECK(read_text(folder.path() / "not yet.txt") == "made");
  std::filesystem::create_symlink("circle", folder.path() / "circle");
  CHECK(refusal(folder.path() / "circle", [&] { io::AtomicFile{folder.path() / "circle"}; }).find("links") !=
        std::string::npos);
}

TEST_CASE("atomic file: one that is there is kept where that is asked for, also one that appears meanwhile") {
  const TemporaryFolder folder;
  const auto target = folder.path() / "a.txt";
  io::write_file(target, "first", io::OldFile::kept);
  CHECK(read_text(target) == "first");
  CHECK(refusal(target, [&] { io::AtomicFile(target, io::OldFile::kept); }).find("already exists") !=
        std::string::npos);
  const auto late = folder.path() / "late.txt";
  {
    io::AtomicFile file(late, io::OldFile::kept);
    file.write("new");
    write_text(late, "mine");
    CHECK(refusal(late, [&] { file.commit(); }).find("already exists") != std::string::npos);
  }
  CHECK(read_text(late) == "mine");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 2);  // and no temporary file
}
