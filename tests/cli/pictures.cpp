// Picture files of the program: their kinds, how a picture to start from fits, and previews.
#include <array>
#include <span>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <image/fit.hpp>
#include <image/metrics.hpp>
#include <image/picture_file.hpp>

#include "given.hpp"
#include "program.hpp"

namespace picture_files {
namespace {

using namespace precast;
using program::run;
using program::Scratch;
using program::with;
using program::Words;

const Words circle{"generate", "--prompt", "a large red circle on a blue background, at the left",
                   "--preset", "quality",  "--seed",
                   "3"};

std::size_t files_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

}  // namespace

TEST_CASE("generate and compare: the kind of picture is its name's end, whatever its letters") {
  const Scratch scratch;
  const std::string here = scratch.path().string();
  const auto kind = [](const std::string& file) {
    const std::string bytes = program::content(file);
    return image::format_of(std::as_bytes(std::span(bytes)), file);
  };
  for (const auto& [name, format] : {std::pair<std::string, image::Format>{"x.JPG", image::Format::jpeg},
                                     {"x.jpeg", image::Format::jpeg},
                                     {"x.WebP", image::Format::webp},
                                     {"x.PNG", image::Format::png},
                                     {"x", image::Format::png}}) {
    INFO(name);
    const auto made = run({"generate", "--prompt", "a ring", "--steps", "1", "--output", here + "/" + name});
    INFO(made.err);
    REQUIRE(made.code == 0);
    CHECK(kind(here + "/" + name) == format);
    CHECK(image::read_image(here + "/" + name).texts.at(0).value.starts_with("a ring\nSteps: 1, "));
  }
  REQUIRE(run({"compare", "--prompt", "a ring", "--steps", "1", "--policies", "quality", "--output",
               here + "/c.jpg"})
              .code == 0);
  CHECK(kind(here + "/c.jpg") == image::Format::jpeg);
  CHECK(image::read_image(here + "/c.jpg").texts.at(0).value.starts_with("a ring\nSteps: "));
  for (const std::string command : {"generate", "compare"})
    for (const std::string name : {"x.gif", "x.TIFF", "x.txt"}) {
      const auto refused = run({command, "--prompt", "a ring", "--output", here + "/" + name});
      INFO(refused.err);
      CHECK(refused.code == 2);
      CHECK(refused.one_line_error());
      CHECK_THAT(refused.err, Catch::Contains("--output") && Catch::Contains(".png, .jpg, .jpeg or .webp"));
      CHECK_FALSE(std::filesystem::exists(here + "/" + name));
    }
}

TEST_CASE("generate: --quality trades bytes for detail, and is checked") {
  const Scratch scratch;
  const std::string here = scratch.path().string();
  const auto size = [&](const std::string& name, const std::string& quality) {
    const auto made = run({"generate", "--prompt", "a ring", "--steps", "1", "--output", here + "/" + name,
                           "--quality", quality});
    REQUIRE(made.code == 0);
    return std::filesystem::file_size(here + "/" + name);
  };
  CHECK(size("a.jpg", "20") < size("a.jpg", "95"));
  CHECK(size("a.webp", "20") < size("a.webp", "95"));
  CHECK(size("a.png", "1") == size("a.png", "100"));
  for (const char* wrong : {"0", "101", "best"})
    CHECK(run({"generate", "--prompt", "a", "--quality", wrong}).code == 2);
  const auto long_text =
      run({"generate", "--prompt", std::string(31000, 'x'), "--output", here + "/long.jpg"});
  CHECK(long_text.code == 2);
  CHECK_THAT(long_text.err, Catch::Contains("--output as .png or .webp"));
}

TEST_CASE("generate: a picture to start from says how it was made to fit, and --fit chooses") {
  const Scratch scratch;
  const std::string here = scratch.path().string(), input = here + "/wide.jpg";
  image::Image wide{160, 64, {}};
  for (int y = 0; y < 64; ++y)
    for (int x = 0; x < 160; ++x)
      for (const int value : {x, 4 * y, 200}) wide.rgb.push_back(static_cast<std::uint8_t>(value));
  image::write_image(input, wide, {}, 95);
  const auto start = [&](const Words& more) {
    return run(with({"generate", "--prompt", "a ring", "--steps", "4", "--strength", "0.5", "--image", input,
                     "--output", here + "/o.png"},
                    more));
  };
  std::vector<image::Image> made;
  for (const auto& [fit, words] : {std::pair<Words, std::string>{{}, "stretched (--fit crop or pad"},
                                   {{"--fit", "stretch"}, "stretched"},
                                   {{"--fit", "crop"}, "cropped and resized"},
                                   {{"--fit", "pad"}, "resized and padded with black"}}) {
    const auto result = start(fit);
    INFO(result.err);
    REQUIRE(result.code == 0);
    CHECK_THAT(result.err, Catch::Contains("wide.jpg is 160x64, the picture 64x64: " + words));
    made.push_back(image::read_image(here + "/o.png").image);
  }
  CHECK(made[0] == made[1]);  // the default is what it was
  CHECK(made[1] != made[2]);
  CHECK(made[2] != made[3]);
  CHECK_THAT(image::read_image(here + "/o.png").texts.at(0).value, Catch::Contains("Fit: pad"));
  // What is cropped before gives the same bits, without a word.
  image::write_image(here + "/square.png", image::fitted(wide, 64, 64, image::Fit::crop), {});
  image::write_image(here + "/wide.png", wide, {});
  const auto from = [&](const std::string& file, const Words& more) {
    const auto result = run(with({"generate", "--prompt", "a ring", "--steps", "4", "--strength", "0.5",
                                  "--image", here + "/" + file, "--output", here + "/o.png"},
                                 more));
    REQUIRE(result.code == 0);
    return std::pair(image::read_image(here + "/o.png").image, result.err);
  };
  const auto [square, quiet] = from("square.png", {});
  CHECK(square == from("wide.png", {"--fit", "crop"}).first);
  CHECK_THAT(quiet, !Catch::Contains("the picture 64x64:"));
  CHECK(start({"--fit", "squeeze"}).code == 2);
  CHECK(run({"generate", "--prompt", "a", "--fit", "crop"}).code == 2);  // without --image
}

TEST_CASE("generate: previews show the picture forming, and change no bit of it") {
  const Scratch scratch;
  const std::string here = scratch.path().string();
  const auto picture = [&](const std::string& name, const Words& more) {
    const auto result = run(with(circle, with(more, {"--output", here + "/" + name})));
    INFO(result.err);
    REQUIRE(result.code == 0);
    return image::read_image(here + "/" + name).image;
  };
  const image::Image plain = picture("plain.png", {});
  CHECK(files_in(scratch.path()) == 1);
  CHECK(picture("a.png", {"--preview", "3"}) == plain);
  const image::Image last = image::read_image(here + "/a-preview.png").image;
  CHECK(last.width == plain.width);
  // One that only ever sees the first steps: noise is left, and the estimate is worse.
  const image::Image early = [&] {
    Words words = circle;
    words.insert(words.end(), {"--steps", "1", "--preview", "1", "--output", here + "/early.png"});
    REQUIRE(run(words).code == 0);
    return image::read_image(here + "/early-preview.png").image;
  }();
  image::Image mean{plain.width, plain.height, {}};
  std::array<std::int64_t, 3> sums{};
  for (std::size_t i = 0; i < plain.rgb.size(); ++i) sums[i % 3] += plain.rgb[i];
  for (std::size_t i = 0; i < plain.rgb.size(); ++i)
    mean.rgb.push_back(
        static_cast<std::uint8_t>(sums[i % 3] * 3 / static_cast<std::int64_t>(plain.rgb.size())));
  const double of_last = image::difference(plain, last).mse;
  CHECK(of_last < image::difference(plain, early).mse);
  CHECK(of_last < image::difference(plain, mean).mse);  // more than its mean colour is seen

  CHECK(picture("v.jpg", {"--preview", "100", "--preview-vae", "--preview-output", here + "/p.png"}).width ==
        plain.width);
  CHECK(image::read_image(here + "/p.png").image == plain);  // the last one by the VAE is the picture
  CHECK(files_in(scratch.path()) == 7);
  CHECK(run({"generate", "--prompt", "a", "--preview-vae"}).code == 2);
  CHECK(run(with(circle, {"--preview", "0"})).code == 2);
  const auto twice =
      run(with(circle, {"--preview", "1", "--preview-output", here + "/x.png", "--output", here + "/x.png"}));
  CHECK(twice.code == 2);
  CHECK_THAT(twice.err, Catch::Contains("written twice"));
  CHECK(run(with(circle, {"--preview", "1", "--preview-output", here + "/x.gif"})).code == 2);
}

TEST_CASE("generate: a model without a map of its latents is previewed by its VAE alone") {
  const Scratch scratch;
  const std::string model = std::string(PRECAST_SOURCE_DIR) + "/tests/golden/models/dev_f32";
  const Words small{"generate",  "--model",  model,
                    "--prompt",  "a",        "--width",
                    "32",        "--height", "16",
                    "--steps",   "2",        "--max-sequence-length",
                    "8",         "--output", (scratch.path() / "o.png").string(),
                    "--preview", "1"};
  const auto refused = run(small);
  INFO(refused.err);
  CHECK(refused.code != 0);
  CHECK(refused.one_line_error());
  CHECK_THAT(refused.err, Catch::Contains("--preview-vae"));
  CHECK(run(with(small, {"--preview-vae"})).code == 0);
  CHECK(std::filesystem::exists(scratch.path() / "o-preview.png"));
}

}  // namespace picture_files
