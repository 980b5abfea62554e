// Files that cannot be used, and are blamed for it by name: unreadable folders, latents of NaN, incomplete
// models.
#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <support/skip.hpp>
#include <sys/stat.h>
#include <unistd.h>

#include <precast/io/write_safetensors.hpp>
#include <precast/tensor/tensor.hpp>

#include "given.hpp"
#include "program.hpp"

using program::run;
using program::Scratch;
using program::small_flux;
namespace fs = std::filesystem;

namespace {

/// What makes a command run as somebody who may not read what its owner alone may.
std::string as_nobody() {
  return ::geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups" : "";
}

}  // namespace

TEST_CASE("a folder that may not be read is called that, and not empty or missing") {
  if (run({"--version"}, as_nobody()).code != 0)
    return precast::testing::skip("user nobody may not run the program");
  const Scratch scratch;
  REQUIRE(::chmod(scratch.path().c_str(), 0755) == 0);
  const fs::path closed = scratch.path() / "closed", part = scratch.path() / "open" / "transformer";
  fs::create_directories(closed / "model");
  fs::create_directories(part);
  for (const fs::path& folder : {closed, part}) REQUIRE(::chmod(folder.c_str(), 0) == 0);
  struct Case {
    std::vector<std::string> arguments;
    std::string names;
  };
  for (const Case& each : std::vector<Case>{
           {{"inspect", closed.string()}, closed.string()},
           {{"inspect", (closed / "model").string()}, (closed / "model").string()},
           {{"inspect", part.parent_path().string()}, part.string()},
           {{"generate", "--prompt", "a", "--output", "-", "--model", closed.string()}, closed.string()},
           {{"generate", "--prompt", "a", "--output", "-", "--model", (closed / "model").string()},
            (closed / "model").string()},
           {{"tokenize", "--text", "a", "--model", closed.string()}, closed.string()}}) {
    const auto refused = run(each.arguments, as_nobody());
    INFO(refused.err);
    CHECK(refused.code == 1);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err, Catch::Contains(each.names) && Catch::Contains("Permission denied"));
  }
  for (const fs::path& folder : {closed, part}) ::chmod(folder.c_str(), 0755);
}

TEST_CASE("a link that leads to itself is called that") {
  const Scratch scratch;
  const std::string loop = (scratch.path() / "loop").string();
  fs::create_symlink("loop", loop);
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"inspect", loop},
        {"generate", "--prompt", "a", "--output", "-", "--model", loop}}) {
    const auto refused = run(arguments);
    INFO(refused.err);
    CHECK(refused.code == 1);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err, Catch::Contains(loop) && Catch::Contains("Too many levels of symbolic links"));
  }
}

TEST_CASE("a command in a folder that was removed says so") {
  const Scratch scratch;
  const std::string folder = program::quoted((scratch.path() / "removed").string());
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"inspect", "."}, {"tokenize", "--text", "a", "--model", "."}}) {
    const auto refused = run(words, "mkdir " + folder + "; cd " + folder + "; rmdir " + folder + ";");
    INFO(refused.err);
    CHECK(refused.code == 1);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err, Catch::Contains(".: No such file or directory: check the path") &&
                                Catch::Contains("still exists"));
  }
}

TEST_CASE("latents that are not finite are blamed on their file, before anything runs") {
  const Scratch scratch;
  for (const auto& [value, word] : {std::pair(std::numeric_limits<float>::quiet_NaN(), "nan"),
                                    {-std::numeric_limits<float>::infinity(), "-inf"}}) {
    precast::Tensor<precast::f32> latents(precast::Shape{1, 32, 16});
    std::fill(latents.values().begin(), latents.values().end(), 0.5f);
    latents.data()[37] = value;
    const fs::path file = scratch.path() / "latents.safetensors";
    const std::array tensors{precast::io::NamedTensor{"latents", latents}};
    precast::io::write_safetensors(file, tensors);
    const auto refused = run({"generate", "--model", small_flux, "--prompt", "a", "--latents", file.string(),
                              "--output", (scratch.path() / "p.png").string()});
    INFO(refused.err);
    CHECK(refused.code == 1);
    CHECK(refused.one_line_error());
    CHECK_THAT(refused.err, Catch::Contains(file.string() + ": tensor 'latents': value 37 is " + word));
  }
}

TEST_CASE("inspect: a model that lacks a component is shown, and is an error") {
  const Scratch scratch;
  const fs::path copy = scratch.path() / "model";
  fs::copy(small_flux, copy, fs::copy_options::recursive);
  CHECK(run({"inspect", copy.string()}).code == 0);
  fs::remove_all(copy / "vae");
  fs::remove_all(copy / "tokenizer");
  const auto text = run({"inspect", copy.string()});
  INFO(text.err);
  CHECK(text.code == 1);
  CHECK(text.one_line_error());
  CHECK_THAT(text.err,
             Catch::Contains(copy.string() + ": lacks tokenizer and vae, which its model_index.json names"));
  CHECK_THAT(text.out, Catch::Contains("FluxTransformer2DModel"));
  const auto json = run({"inspect", copy.string(), "--json"});
  CHECK(json.code == 1);
  CHECK(json.json()["missing"] == nlohmann::json({"tokenizer", "vae"}));
}
