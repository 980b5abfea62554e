// Previews: sums of channels, the way to no noise, and when they come.
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <flux/latents.hpp>
#include <flux/pipeline.hpp>
#include <flux/preview.hpp>
#include <support/preview_seconds.hpp>

#include <precast/error.hpp>
#include <precast/policy/presets.hpp>

namespace flux_previews {
namespace {

using namespace precast;
using namespace precast::flux;

const std::string golden_model = std::string(PRECAST_SOURCE_DIR) + "/tests/golden/models/dev_f32";

}  // namespace

TEST_CASE("a preview map sums the channels of each latent") {
  const PackedLayout layout{2, 2, 2};
  Tensor<f32> packed(Shape{1, 8});
  const auto set = [&](int channel, int y, int x, f32 value) {
    packed.data()[layout.index(channel, y, x)] = value;
  };
  for (int i = 0; i < 4; ++i) set(0, i / 2, i % 2, static_cast<f32>(i)), set(1, i / 2, i % 2, -1);
  const PreviewMap map{{{0.5f, 0, 0}, {0, 1, -1}}, {-1, 0, 0.5f}};
  // red: 0.5 i - 1; green: -1; blue: 1.5
  CHECK(map.picture(unpack(packed, layout)).rgb ==
        std::vector<std::uint8_t>{0, 0, 255, 64, 0, 255, 128, 0, 255, 191, 0, 255});
  CHECK_THROWS_AS(usual_preview_map().picture(unpack(packed, layout)), ShapeError);
  CHECK(usual_preview_map().weights.size() == 16);
}

TEST_CASE("a straight way from two noise levels leads to none") {
  // x = picture + level (noise - picture), at levels 0.75 and 0.5
  const f32 picture = 3, noise = -1;
  const auto at = [&](f32 level) {
    Tensor<f32> x(Shape{1, 1});
    x.data()[0] = picture + level * (noise - picture);
    return x;
  };
  CHECK(without_noise(at(0.75f), 0.75f, at(0.5f), 0.5f).data()[0] == picture);
  CHECK(without_noise(at(0.5f), 0.5f, at(0), 0).data()[0] == picture);
}

TEST_CASE("previews come every N steps and at the end, of every picture, and change nothing") {
  const auto choices = families::ComponentChoices::all(preset_named("quality")->choice);
  const FluxPipeline pipeline(golden_model, choices);
  Request request;
  request.prompts = {"a", "b"};
  request.width = 32;
  request.height = 16;
  request.steps = 5;
  request.max_sequence_length = 8;
  const Result plain = pipeline.generate(request);
  std::vector<std::pair<std::int64_t, std::int64_t>> seen;
  image::Image last;
  request.preview = families::PreviewRequest{2, true, [&](const families::Preview& preview) {
                                               seen.emplace_back(preview.number, preview.step);
                                               CHECK(preview.steps == 5);
                                               CHECK(preview.picture.width == 32);
                                               CHECK(preview.picture.height == 16);
                                               last = preview.picture;
                                             }};
  const Result shown = pipeline.generate(request);
  CHECK(seen == decltype(seen){{0, 2}, {0, 4}, {0, 5}, {1, 2}, {1, 4}, {1, 5}});
  CHECK(shown.images == plain.images);
  CHECK(last == plain.images.at(1));
  // The decoder stays beside the transformer, and the estimate says so.
  const auto of_transformer = [&](const Request& asked) {
    for (const families::ComponentMemory& component : pipeline.estimate(asked).components)
      if (component.component == "transformer") return component.weights + component.activations;
    return std::int64_t{0};
  };
  request.prompts = {"a"};  // one picture is denoised, then decoded
  const std::int64_t with_decoder = of_transformer(request);
  const families::PreviewRequest previews = *request.preview;
  request.preview.reset();
  CHECK(with_decoder > of_transformer(request));
  request.preview = previews;
  request.preview->vae = false;
  CHECK_THROWS_WITH(pipeline.check(request), Catch::Contains("--preview-vae"));
  request.preview = families::PreviewRequest{0, true, {}};
  CHECK_THROWS_AS(pipeline.check(request), InputError);
}

TEST_CASE("the seconds of denoising are without those of previews") {
  const FluxPipeline pipeline(golden_model, families::ComponentChoices::all(preset_named("quality")->choice));
  Request request;
  request.prompts = {"a"};
  request.width = 32;
  request.height = 16;
  request.steps = 2;
  request.max_sequence_length = 8;
  testing::check_preview_seconds(pipeline, std::move(request));
}

}  // namespace flux_previews
