// Requests that cannot be met: refused before anything is loaded, in one line that says what to give instead.
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

struct BadRequest {
  std::string what;
  std::function<void(flux::Request&)> change;
  std::vector<std::string> says;
};

image::Image grey(int width, int height) {
  return {width, height, std::vector<std::uint8_t>(static_cast<std::size_t>(3 * width * height), 128)};
}

const std::vector<BadRequest> bad_requests{
    {"no prompt", [](auto& r) { r.prompts.clear(); }, {"prompt"}},
    {"no steps", [](auto& r) { r.steps = 0; }, {"steps", "0", "from 1"}},
    {"negative steps", [](auto& r) { r.steps = -4; }, {"steps", "-4"}},
    {"huge steps", [](auto& r) { r.steps = std::numeric_limits<int>::max(); }, {"steps", "10000"}},
    {"no width", [](auto& r) { r.width = 0; }, {"width", "0", "multiple of 4"}},
    {"negative height", [](auto& r) { r.height = -40; }, {"height", "-40"}},
    {"huge width", [](auto& r) { r.width = 1 << 30; }, {"width"}},
    {"a width below the least", [](auto& r) { r.width = 3; }, {"width", "3", "try 4"}},
    {"an odd width", [](auto& r) { r.width = 41; }, {"width", "41", "multiple of 4", "try 40 or 44"}},
    {"a height of half tokens", [](auto& r) { r.height = 22; }, {"height", "22", "multiple of 4"}},
    {"no batch", [](auto& r) { r.batch = 0; }, {"batch", "0"}},
    {"negative batch", [](auto& r) { r.batch = -1; }, {"batch", "-1"}},
    {"huge batch", [](auto& r) { r.batch = std::numeric_limits<int>::max(); }, {"batch"}},
    {"negative guidance", [](auto& r) { r.guidance = -1; }, {"guidance"}},
    {"guidance that is no number",
     [](auto& r) { r.guidance = std::numeric_limits<double>::quiet_NaN(); },
     {"guidance"}},
    {"infinite guidance",
     [](auto& r) { r.guidance = std::numeric_limits<double>::infinity(); },
     {"guidance"}},
    {"a CFG scale below 1", [](auto& r) { r.cfg_scale = 0.5; }, {"CFG scale", "0.5", "from 1"}},
    {"a CFG scale that is no number",
     [](auto& r) { r.cfg_scale = std::numeric_limits<double>::quiet_NaN(); },
     {"CFG scale"}},
    {"no padding", [](auto& r) { r.padding = 0; }, {"T5 padding", "0", "from 1"}},
    {"more padding than tokens",
     [](auto& r) { r.max_sequence_length = 16, r.padding = 17; },
     {"T5 padding", "17", "16"}},
    {"no sequence", [](auto& r) { r.max_sequence_length = 0; }, {"sequence", "0"}},
    {"a long sequence", [](auto& r) { r.max_sequence_length = 513; }, {"sequence", "513", "512"}},
    {"strength above 1", [](auto& r) { r.image = grey(40, 24), r.strength = 1.5; }, {"strength", "1.5"}},
    {"negative strength", [](auto& r) { r.image = grey(40, 24), r.strength = -0.1; }, {"strength"}},
    {"strength that is no number",
     [](auto& r) { r.image = grey(40, 24), r.strength = std::numeric_limits<double>::quiet_NaN(); },
     {"strength"}},
    {"strength too small for a step",
     [](auto& r) { r.image = grey(40, 24), r.strength = 1e-30; },
     {"strength", "steps"}},
    {"an empty image", [](auto& r) { r.image = grey(0, 0); }, {"image"}},
    {"an image without its pixels",
     [](auto& r) {
       r.image = image::Image{40, 24, {}};
     },
     {"image"}},
    {"latents of another size",
     [](auto& r) {
       r.latents = Tensor<f32>(Shape{1, 61, 16});
     },
     {"latents", "[1, 61, 16]", "[1, 60, 16]"}},
    {"latents of another batch",
     [](auto& r) {
       r.latents = Tensor<f32>(Shape{2, 60, 16});
     },
     {"latents", "[2, 60, 16]"}},
    {"latents and an image",
     [](auto& r) {
       r.image = grey(40, 24), r.latents = Tensor<f32>(Shape{1, 60, 16});
     },
     {"image", "latents"}},
};

}  // namespace

TEST_CASE("a request that cannot be met is refused in one line, before anything is loaded") {
  const Golden golden("dev_f32");
  const auto pipeline = open_golden("dev_f32", compiled_choices().front());
  for (const BadRequest& bad : bad_requests) {
    INFO(bad.what);
    flux::Request request = request_of(golden);
    bad.change(request);
    int calls = 0;
    std::string message;
    try {
      pipeline.generate(request, [&](const flux::Progress&) { ++calls; });
      FAIL_CHECK("was accepted");
    } catch (const Error& error) {
      message = error.what();
    }
    CHECK(calls == 0);
    CHECK(message.find('\n') == std::string::npos);
    for (const std::string& part : bad.says) CHECK_THAT(message, Catch::Contains(part));
  }
}

TEST_CASE("a request at the edge of what is allowed is met") {
  const Golden golden("dev_f32");
  const auto pipeline = open_golden("dev_f32", compiled_choices().front());
  flux::Request request = request_of(golden);
  request.width = 4;
  request.height = 4;
  request.steps = 1;
  request.max_sequence_length = 1;
  request.guidance = 0;
  request.prompts = {""};
  CHECK(pipeline.generate(request).images.at(0).rgb.size() == 3 * 4 * 4);
  request.image = grey(1, 1);
  request.strength = 1;
  CHECK(pipeline.generate(request).images.size() == 1);
  request.prompts = {std::string(100000, 'a')};
  CHECK(pipeline.generate(request).images.size() == 1);
  request.prompts = {std::string("bytes that are not UTF-8: \xff\xfe\x80 and a NUL:") + '\0' + " ."};
  CHECK(pipeline.generate(request).images.size() == 1);
}
