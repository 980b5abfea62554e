// The whole pipeline in f32 against diffusers: from prompt and seed to latents and picture.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <support/arrays.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// Runs `body(golden, pipeline, folder)` for each golden folder and f32 path.
template <class Body>
void for_each_golden_pipeline(Body&& body) {
  for (const char* folder : golden_folders) {
    const Golden golden(folder);
    for (const PolicyChoice& choice : f32_choices()) {
      INFO(folder << " under " << to_string(choice));
      body(golden, open_golden(folder, choice), std::string(folder));
    }
  }
}

}  // namespace

TEST_CASE("a prompt's ids, padded, are what diffusers gives to its encoders") {
  for (const char* folder : golden_folders) {
    INFO(folder);
    const Golden golden(folder);
    const auto pipeline = open_golden(folder, compiled_choices().front());
    // Ids that the folder's own length cuts keep all but their end token.
    const auto starts_with = [](const std::vector<std::int32_t>& padded,
                                const std::vector<std::int32_t>& ids) {
      const std::size_t compared = ids.size() <= padded.size() ? ids.size() : padded.size() - 1;
      return std::equal(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(compared), padded.begin());
    };
    CHECK(starts_with(golden.ids("clip_ids"), pipeline.clip_tokens(golden.text("prompt"))));
    CHECK(starts_with(golden.ids("t5_ids"), pipeline.t5_tokens(golden.text("prompt"))));
  }
}

TEST_CASE("a seed's latents are diffusers', with dev and schnell schedules, square or not") {
  for_each_golden_pipeline([](const Golden& golden, const flux::FluxPipeline& pipeline, const std::string&) {
    for (const int seed : golden.fact("seeds")) {
      INFO("seed " << seed);
      flux::Request request = request_of(golden);
      request.seed = static_cast<std::uint64_t>(seed);
      const flux::Result result = pipeline.generate(request);
      const Tensor<f32> expected = golden.tensor("seeds." + std::to_string(seed) + ".f32");
      CHECK(result.latents.shape() == golden.shape("seeds." + std::to_string(seed) + ".f32"));
      CHECK(relative_error(result.latents.values(), expected.values()) <= largest_error);
    }
  });
}

TEST_CASE("latents are as near to f64 as diffusers' own f32 is") {
  for_each_golden_pipeline([](const Golden& golden, const flux::FluxPipeline& pipeline, const std::string&) {
    const flux::Result result = pipeline.generate(request_of(golden));
    // The contract of ops, twice PyTorch's own error, applied to the whole.
    CHECK(relative_error(result.latents.values(), golden.doubles("latents_f64")) <=
          2 * golden.fact("errors")["f32_from_f64"][0].get<double>());
  });
}

TEST_CASE("the picture is diffusers' within a level") {
  for_each_golden_pipeline([](const Golden& golden, const flux::FluxPipeline& pipeline, const std::string&) {
    const flux::Result result = pipeline.generate(request_of(golden));
    REQUIRE(result.images.size() == 1);
    CHECK(largest_difference(result.images[0], picture_of(golden, "image_u8")) <= 1);
    CHECK(result.prompts == std::vector{golden.text("prompt")});
  });
}

TEST_CASE("a picture to start from gives diffusers' latents") {
  int runs = 0;
  for_each_golden_pipeline([&](const Golden& golden, const flux::FluxPipeline& pipeline, const std::string&) {
    for (std::size_t k = 0; k < golden.fact("img2img").size(); ++k) {
      INFO("run " << k);
      const flux::Result result = pipeline.generate(image_request_of(golden, k));
      const Tensor<f32> expected = golden.tensor("img2img." + std::to_string(k) + ".latents");
      CHECK(relative_error(result.latents.values(), expected.values()) <= largest_error);
      ++runs;
    }
  });
  CHECK(runs == static_cast<int>(3 * f32_choices().size()));
}

TEST_CASE("several prompts and pictures each continue one stream of noise") {
  const Golden golden("static_sharded");
  const nlohmann::json batch = golden.fact("batch");
  for (const PolicyChoice& choice : f32_choices()) {
    INFO(to_string(choice));
    flux::Request request = request_of(golden);
    request.prompts = batch["prompts"].get<std::vector<std::string>>();
    request.batch = batch["images"].get<int>();
    request.steps = batch["steps"].get<int>();
    const flux::Result result = open_golden("static_sharded", choice).generate(request);
    CHECK(result.latents.shape() == golden.shape("batch.latents"));
    CHECK(relative_error(result.latents.values(), golden.tensor("batch.latents").values()) <= largest_error);
    CHECK(result.images.size() == 4);
    CHECK(result.prompts == std::vector<std::string>{batch["prompts"][0], batch["prompts"][0],
                                                     batch["prompts"][1], batch["prompts"][1]});
  }
}

TEST_CASE("given latents take the place of the seed's noise") {
  for_each_golden_pipeline([](const Golden& golden, const flux::FluxPipeline& pipeline, const std::string&) {
    flux::Request request = request_of(golden);
    const flux::Result drawn = pipeline.generate(request);
    request.latents = golden.tensor("noise").reshaped(golden.shape("noise"));
    request.seed = 7;
    const flux::Result given = pipeline.generate(request);
    // Our noise is PyTorch's bit for bit, so the run is the same.
    CHECK(same_bits(given.latents, drawn.latents));
    CHECK(given.images[0].rgb == drawn.images[0].rgb);
  });
}

TEST_CASE("a seed counts modulo 2^32, another one makes another picture, and a run repeats") {
  const Golden golden("dev_f32");
  const auto pipeline = open_golden("dev_f32", compiled_choices().front());
  flux::Request request = request_of(golden);
  const flux::Result first = pipeline.generate(request);
  CHECK(same_bits(pipeline.generate(request).latents, first.latents));
  request.seed += std::uint64_t{1} << 32;
  CHECK(same_bits(pipeline.generate(request).latents, first.latents));
  request.seed = 43;
  CHECK(!same_bits(pipeline.generate(request).latents, first.latents));
}

TEST_CASE("guidance acts on a guided model and on no other") {
  for (const auto& [folder, guided] : {std::pair("dev_f32", true), std::pair("static_sharded", false)}) {
    INFO(folder);
    const auto pipeline = open_golden(folder, compiled_choices().front());
    flux::Request request = request_of(Golden(folder));
    const flux::Result before = pipeline.generate(request);
    request.guidance = 1.5;
    CHECK(same_bits(pipeline.generate(request).latents, before.latents) == !guided);
  }
}

TEST_CASE("what a request leaves open comes from the model") {
  const PolicyChoice choice = compiled_choices().front();
  const auto dev = open_golden("dev_f32", choice), schnell = open_golden("schnell_bf16", choice);
  flux::Request request;
  request.prompts = {"a circle"};
  const families::ResolvedRequest of_dev = dev.with_defaults(request),
                                  of_schnell = schnell.with_defaults(request);
  CHECK(of_dev.steps == 28);
  CHECK(of_schnell.steps == 4);
  CHECK(of_dev.guidance == 3.5);
  CHECK_FALSE(of_schnell.guidance);  // it has none, so none is recorded
  CHECK(of_dev.max_sequence_length == 512);
  CHECK(of_schnell.max_sequence_length == 64);  // its tokenizer's model_max_length
  CHECK(of_dev.width == 256);                   // 128 latents of 2 pixels
  CHECK(of_schnell.height == 512);
}
