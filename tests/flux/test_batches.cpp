// Pictures of one request: their seeds, the padding of their prompts, and what they keep away from.
#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <flux/model_folder.hpp>
#include <flux/models.hpp>
#include <support/arrays.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>

#include <precast/io/component_source.hpp>
#include <precast/ops/sampler.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

std::vector<f32> values_of(const Tensor<f32>& tensor, std::int64_t part = 0, std::int64_t parts = 1) {
  const std::int64_t size = tensor.elements() / parts;
  return {tensor.data() + part * size, tensor.data() + (part + 1) * size};
}

flux::Request small_request() {
  flux::Request request = request_of(Golden("dev_f32"));
  request.steps = 2;
  return request;
}

}  // namespace

TEST_CASE("with a seed step, every picture of a batch is the one that its seed makes alone") {
  const auto pipeline = open_golden("dev_f32", compiled_choices().front());
  for (const bool from_image : {false, true}) {
    flux::Request request = small_request();
    request.prompts = {"a circle", "a star"};
    request.batch = 2;
    request.seed = 1000;
    request.seed_step = 7;
    if (from_image) request.image = picture_of(Golden("dev_f32"), "image_u8");
    const flux::Result together = pipeline.generate(request);
    REQUIRE(together.images.size() == 4);
    for (std::int64_t k = 0; k < 4; ++k) {
      INFO("picture " << k << (from_image ? " from an image" : ""));
      flux::Request alone = small_request();
      alone.prompts = {request.prompts[static_cast<std::size_t>(k / 2)]};
      alone.image = request.image;
      alone.seed = families::picture_seed(together.used, k);
      CHECK(alone.seed == 1000 + 7 * static_cast<std::uint64_t>(k));
      CHECK(values_of(pipeline.generate(alone).latents) == values_of(together.latents, k, 4));
    }
  }
}

TEST_CASE("a seed step goes round at 2^64, and one of 0 repeats the picture") {
  const auto pipeline = open_golden("dev_f32", compiled_choices().front());
  flux::Request request = small_request();
  request.seed = ~std::uint64_t{0};
  request.seed_step = 2;
  CHECK(families::picture_seed(pipeline.with_defaults(request), 1) == 1);
  request = small_request();
  request.batch = 2;
  request.seed_step = 0;
  const flux::Result same = pipeline.generate(request);
  CHECK(values_of(same.latents, 0, 2) == values_of(same.latents, 1, 2));
  request.seed_step.reset();
  const flux::Result stream = pipeline.generate(request);
  CHECK(values_of(stream.latents, 0, 2) == values_of(same.latents, 0, 2));
  CHECK(values_of(stream.latents, 1, 2) != values_of(same.latents, 1, 2));
}

TEST_CASE("padding fills short prompts up, and long ones take what they need") {
  const auto pipeline = open_golden("dev_f32", compiled_choices().front());
  const auto made = [&](const std::string& prompt, int length, std::optional<int> padding) {
    flux::Request request = small_request();
    request.prompts = {prompt};
    request.max_sequence_length = length;
    request.padding = padding;
    return values_of(pipeline.generate(request).latents);
  };
  const std::string brief = "a star",
                    lengthy = "a large red circle on a blue background at the left of a star";
  const auto tokens = static_cast<int>(pipeline.t5_tokens(lengthy).size());
  REQUIRE(tokens > 12);
  CHECK(made(brief, 64, 12) == made(brief, 12, std::nullopt));
  CHECK(made(brief, 64, 12) != made(brief, 64, std::nullopt));
  CHECK(made(lengthy, 64, 12) == made(lengthy, tokens, std::nullopt));
  CHECK(made(lengthy, 64, 64) == made(lengthy, 64, std::nullopt));
  // Each prompt is padded for itself: another one in the request does not change its picture.
  flux::Request both = small_request();
  both.prompts = {brief, lengthy};
  both.max_sequence_length = 64;
  both.padding = 12;
  both.seed_step = 0;
  CHECK(values_of(pipeline.generate(both).latents, 0, 2) == made(brief, 64, 12));
}

TEST_CASE("what an estimate says of prompts of several lengths is what the longest takes") {
  const auto pipeline = open_golden("dev_f32", compiled_choices().front());
  flux::Request request = small_request();
  request.max_sequence_length = 512;
  request.padding = 4;
  std::string lengthy;
  for (int i = 0; i < 12; ++i) lengthy += "a large red circle on a blue background at the left of a star ";
  const auto needs = [&](const std::vector<std::string>& prompts) {
    request.prompts = prompts;
    return pipeline.estimate(request).components.at(1).activations;
  };
  const auto one = needs({lengthy});
  CHECK(one > needs({"a"}));
  CHECK(needs({"a", lengthy}) >= one);
}

TEST_CASE("a prompt that is cut says which words each encoder does not see") {
  const auto pipeline = open_golden("dev_f32", compiled_choices().front());
  flux::Request request = small_request();
  request.prompts = {"a star", "a large red circle on a blue background"};
  request.max_sequence_length = 64;
  CHECK(pipeline.cut_prompts(request).empty());
  request.max_sequence_length = 5;
  const auto cut = pipeline.cut_prompts(request);
  REQUIRE(cut.size() == 1);
  CHECK(cut[0].prompt == 1);
  CHECK(cut[0].encoder == "T5");
  CHECK(cut[0].tokens == 5);
  const std::string whole = request.prompts[1];
  REQUIRE(whole.ends_with(cut[0].lost));
  // What is left fits, and one word more does not.
  const std::string kept = whole.substr(0, whole.size() - cut[0].lost.size());
  CHECK(pipeline.t5_tokens(kept).size() <= 5);
  CHECK(pipeline.t5_tokens(kept + cut[0].lost.substr(0, cut[0].lost.find(' '))).size() > 5);
  request.max_sequence_length = 512;
  for (int i = 0; i < 80; ++i) request.prompts[0] += " star";
  const auto long_prompt = pipeline.cut_prompts(request);
  REQUIRE_FALSE(long_prompt.empty());
  CHECK(long_prompt[0].encoder == "CLIP");
  CHECK(long_prompt[0].lost.starts_with("star star"));
  request.prompts = {"a star"};
  request.negative = whole;
  request.max_sequence_length = 5;
  CHECK(pipeline.cut_prompts(request).empty());  // it does not act
  request.cfg_scale = 2;
  const auto away = pipeline.cut_prompts(request);
  REQUIRE(away.size() == 1);
  CHECK(away[0].negative);
  CHECK(away[0].lost == cut[0].lost);
}

TEST_CASE("a negative prompt acts with a CFG scale, and the same prompt on both sides is the prompt alone") {
  for (const PolicyChoice& choice : f32_choices()) {
    const auto pipeline = open_golden("dev_f32", choice);
    flux::Request request = small_request();
    const std::vector<f32> plain = values_of(pipeline.generate(request).latents);
    request.negative = "blue";
    CHECK_FALSE(pipeline.with_defaults(request).negative);  // without a scale there is no use for it
    CHECK(values_of(pipeline.generate(request).latents) == plain);
    request.cfg_scale = 4;
    CHECK(values_of(pipeline.generate(request).latents) != plain);
    request.negative = request.prompts.front();
    const flux::Result same = pipeline.generate(request);
    CHECK(relative_error(same.latents.values(), plain) <= largest_error);
    CHECK(same.steps == 2);
    request.negative.reset();
    CHECK(pipeline.with_defaults(request).negative == "");  // nothing in particular
  }
}

TEST_CASE("a step with a negative prompt goes along negative + scale (positive - negative)") {
  for (const PolicyChoice& choice : f32_choices()) {
    const auto model = flux::ModelFolder::open(golden_model("dev_f32"));
    const io::ComponentSource weights(model.component("transformer"));
    const flux::TransformerConfig& config = model.transformer;
    const auto transformer = flux::models_of(families::cpu_backend(), choice).transformer(config, weights);
    constexpr std::int64_t rows = 2, columns = 3;
    const auto start = random_tensor<f32>({rows * columns, config.in_channels}, 1);
    // The negative prompt has another length, as it has where each prompt is padded for itself.
    const auto prompt = random_tensor<f32>({5, config.joint_attention_dim}, 2),
               pooled = random_tensor<f32>({1, config.pooled_projection_dim}, 3),
               negative = random_tensor<f32>({7, config.joint_attention_dim}, 4),
               negative_pooled = random_tensor<f32>({1, config.pooled_projection_dim}, 5);
    const f32 scale = 3;
    const std::vector<flux::DenoiseStep> steps{{1, -0.5f}, {0.5f, -0.25f}, {0.25f, -0.25f}};
    const flux::TransformerInput input{{}, prompt, pooled, 0, 3.5f, rows, columns};
    HostTensor<f32> latents = start.clone(), expected = start.clone();
    std::vector<std::int64_t> seen;
    transformer->denoise(latents, {input, steps, flux::NegativePrompt{negative, negative_pooled, scale}},
                         [&](std::int64_t step) { seen.push_back(step); });
    CHECK(seen == std::vector<std::int64_t>{0, 1, 2});
    for (const flux::DenoiseStep& step : steps) {
      flux::TransformerInput positive = input;
      positive.latents = expected;
      positive.timestep = step.timestep;
      flux::TransformerInput away = positive;
      away.prompt = negative;
      away.pooled = negative_pooled;
      HostTensor<f32> velocity = transformer->velocity(away);
      guide_into(velocity, transformer->velocity(positive), scale, velocity);
      euler_step_into(expected, velocity, step.distance, expected);
    }
    CHECK(same_bits(latents, expected));
    // A negative prompt of another model's width is refused.
    const auto wide = random_tensor<f32>({7, config.joint_attention_dim + 1}, 6);
    CHECK_THROWS_AS(
        transformer->denoise(latents, {input, steps, flux::NegativePrompt{wide, negative_pooled, scale}},
                             [](std::int64_t) {}),
        ShapeError);
  }
}
