// Models in Hugging Face's cache, as huggingface_hub lays it out: found by name, revision and folder.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include <catch2/catch.hpp>
#include <families/hub_cache.hpp>
#include <support/temporary_folder.hpp>
#include <sys/stat.h>

#include <precast/error.hpp>

using namespace precast;
using families::find_model;
using families::hub_cache;
using families::hub_name;
namespace fs = std::filesystem;

namespace {

/// Sets an environment variable, or unsets it, until it is gone.
class Variable {
 public:
  Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const std::optional<std::string>& value) {
    if (value)
      setenv(name_, value->c_str(), 1);
    else
      unsetenv(name_);
  }
  const char* name_;
  std::optional<std::string> before_;
};

/// No variable of the machine's own is in the way.
struct CleanEnvironment {
  Variable cache{"HF_HUB_CACHE", std::nullopt}, old_cache{"HUGGINGFACE_HUB_CACHE", std::nullopt},
      home{"HF_HOME", std::nullopt}, xdg{"XDG_CACHE_HOME", std::nullopt};
};

void write(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream(file) << text;
}

/// A snapshot as the hub's tools make it: a link to a blob.
void add_snapshot(const fs::path& model, const std::string& commit) {
  write(model / "blobs" / ("of-" + commit), "{}");
  fs::create_directories(model / "snapshots" / commit);
  fs::create_symlink("../../blobs/of-" + commit, model / "snapshots" / commit / "model_index.json");
}

std::string refusal_of(const std::string& name) {
  try {
    return "found " + find_model(name).string();
  } catch (const InputError& error) {
    return error.what();
  }
}

}  // namespace

TEST_CASE("the hub's cache is where huggingface_hub looks for it") {
  const CleanEnvironment clean;
  const Variable user("HOME", "/home/someone");
  CHECK(hub_cache() == "/home/someone/.cache/huggingface/hub");
  {
    const Variable unset("HOME",
                         std::nullopt);  // the user database knows a home, as Python's expanduser does
    CHECK(hub_cache().is_absolute());
    const Variable empty("HOME", "");
    CHECK(hub_cache() == "/.cache/huggingface/hub");
  }
  const Variable xdg("XDG_CACHE_HOME", "/xdg");
  CHECK(hub_cache() == "/xdg/huggingface/hub");
  const Variable home("HF_HOME", "~/models");
  CHECK(hub_cache() == "/home/someone/models/hub");
  const Variable old("HUGGINGFACE_HUB_CACHE", "/old");
  CHECK(hub_cache() == "/old");
  const Variable cache("HF_HUB_CACHE", "/new");
  CHECK(hub_cache() == "/new");
  const Variable empty("HF_HUB_CACHE", "");
  CHECK(hub_cache() == "/old");
}

TEST_CASE("a model is found by its name: main, else the newest snapshot") {
  const CleanEnvironment clean;
  const testing::TemporaryFolder folder;
  const Variable cache("HF_HUB_CACHE", folder.path().string());
  const fs::path model = folder.path() / "models--some-one--A_model.1";
  add_snapshot(model, "aaaa");
  add_snapshot(model, "bbbb");
  fs::create_directories(model / "snapshots" / "cccc");  // fetched in part: without model_index.json
  const auto now = fs::file_time_type::clock::now();
  fs::last_write_time(model / "snapshots" / "aaaa", now);
  fs::last_write_time(model / "snapshots" / "bbbb", now - std::chrono::hours(1));
  fs::last_write_time(model / "snapshots" / "cccc", now + std::chrono::hours(1));
  CHECK(find_model("some-one/A_model.1") == model / "snapshots" / "aaaa");
  write(model / "refs" / "main", "bbbb\n");
  CHECK(find_model("some-one/A_model.1") == model / "snapshots" / "bbbb");
  write(model / "refs" / "refs" / "pr" / "1", "aaaa");
  CHECK(find_model("some-one/A_model.1@refs/pr/1") == model / "snapshots" / "aaaa");
  CHECK(find_model("some-one/A_model.1@aaaa") == model / "snapshots" / "aaaa");
  CHECK(find_model("models--some-one--A_model.1") == find_model("some-one/A_model.1"));
  // A folder of the cache is the model too, and a snapshot is itself.
  CHECK(find_model(model.string()) == model / "snapshots" / "bbbb");
  CHECK(find_model(model.string() + "/") == model / "snapshots" / "bbbb");
  CHECK(find_model((model / "snapshots" / "aaaa").string()) == model / "snapshots" / "aaaa");
  // A link to nothing matters in a component, not at the top.
  fs::create_symlink("../../blobs/none", model / "snapshots" / "bbbb" / "all.safetensors");
  CHECK(find_model("some-one/A_model.1") == model / "snapshots" / "bbbb");
  fs::create_directories(model / "snapshots" / "bbbb" / "vae");
  fs::create_symlink("../../../blobs/none", model / "snapshots" / "bbbb" / "vae" / "model.safetensors");
  CHECK_THAT(refusal_of("some-one/A_model.1"),
             Catch::Contains("downloaded in part: download it again with hf download"));
  fs::remove(model / "snapshots" / "bbbb" / "vae" / "model.safetensors");
  fs::last_write_time(model / "snapshots" / "bbbb", now - std::chrono::hours(1));
  write(model / "refs" / "main", "cccc");
  CHECK_THAT(refusal_of("some-one/A_model.1"),
             Catch::Contains("refs/main names snapshot cccc, which is missing") &&
                 Catch::EndsWith("download some-one/A_model.1, or name some-one/A_model.1@aaaa"));
  write(model / "refs" / "main", "../../elsewhere");
  CHECK(find_model("some-one/A_model.1") == model / "snapshots" / "aaaa");
}

TEST_CASE("a folder that is there comes before the cache, and paths stay paths") {
  const CleanEnvironment clean;
  const testing::TemporaryFolder folder;
  const Variable cache("HF_HUB_CACHE", folder.path().string());
  CHECK(find_model(folder.path().string()) == folder.path());
  for (const char* path :
       {"/nowhere/model", "./x/y", "../y", "~/x", "x", "a/b/c", "x/", "/x", "x/y.gguf", "x/y.safetensors"})
    CHECK(find_model(path) == path);
}

TEST_CASE("a model that is not there says where it was looked for and how to fetch it") {
  const CleanEnvironment clean;
  const testing::TemporaryFolder folder;
  const std::string where = folder.path().string();
  const Variable cache("HF_HUB_CACHE", where);
  CHECK(refusal_of("x/y") == "model x/y is neither a folder nor in Hugging Face's cache, " + where +
                                 ": download it with hf download x/y");
  CHECK_THAT(refusal_of("x/y@v2"), Catch::EndsWith("hf download x/y --revision v2"));
  add_snapshot(folder.path() / "models--x--y", "aaaa");
  CHECK_THAT(refusal_of("x/y@v2"), Catch::Contains("models--x--y: holds no revision 'v2'") &&
                                       Catch::EndsWith("hf download x/y --revision v2"));
  CHECK_THAT(refusal_of("y"), Catch::Contains("x/y is in Hugging Face's cache"));
  fs::create_directories(folder.path() / "models--x--z");
  CHECK_THAT(refusal_of("x/z"), Catch::Contains("models--x--z: holds no snapshot"));
  CHECK(refusal_of("x/y@../../other").starts_with("found"));  // no name: a path, which its reader refuses
}

TEST_CASE("what is in the cache and cannot be read is said to be that, and not to be missing") {
  const CleanEnvironment clean;
  const testing::TemporaryFolder folder;
  const fs::path model = folder.path() / "models--x--y";
  add_snapshot(model, "aaaa");
  fs::create_directories(model / "refs");
  REQUIRE(::mkfifo((model / "refs" / "main").c_str(), 0600) == 0);  // which nobody ever writes to
  const Variable cache("HF_HUB_CACHE", folder.path().string());
  CHECK_THAT(refusal_of("x/y"), Catch::Contains("refs/main: is not a regular file"));
  CHECK(find_model("x/y@aaaa") == model / "snapshots" / "aaaa");
  CHECK(hub_name(model / "snapshots" / "aaaa") == "x/y@aaaa");
  fs::create_directory_symlink("loop", folder.path() / "loop");
  const Variable lost("HF_HUB_CACHE", (folder.path() / "loop").string());
  CHECK_THAT(refusal_of("x/y"),
             Catch::Contains("models--x--y: cannot be read: Too many levels of symbolic") &&
                 !Catch::Contains("hf download"));
  fs::remove_all(model);
  fs::create_directories(model);
  fs::create_directory_symlink("snapshots", model / "snapshots");
  const Variable found("HF_HUB_CACHE", folder.path().string());
  CHECK_THAT(refusal_of("x/y"), Catch::Contains("snapshots: cannot be read: Too many levels of symbolic"));
}

TEST_CASE("a snapshot has its model's name") {
  const CleanEnvironment clean;
  const testing::TemporaryFolder folder;
  const fs::path model = folder.path() / "models--x--y";
  add_snapshot(model, "aaaa");
  add_snapshot(model, "bbbb");
  write(model / "refs" / "main", "aaaa");
  write(model / "refs" / "v2", "bbbb");
  CHECK(hub_name(model) == "x/y");
  CHECK(hub_name(model / "snapshots" / "aaaa") == "x/y");
  CHECK(hub_name(model / "snapshots" / "aaaa" / "vae") == "x/y");
  CHECK(hub_name(model / "snapshots" / "bbbb") == "x/y@v2");
  CHECK(hub_name(model / "snapshots" / "cccc") == "x/y@cccc");
  fs::create_directories(folder.path() / "models--archive" / "mine");
  CHECK_FALSE(hub_name(folder.path() / "models--archive" / "mine"));
  fs::create_directories(folder.path() / "models--a--b" / "mine");
  CHECK_FALSE(hub_name(folder.path() / "models--a--b" / "mine"));
  CHECK_FALSE(hub_name(folder.path()));
}
