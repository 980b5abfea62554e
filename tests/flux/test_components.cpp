// Each component alone against what diffusers and transformers make of the same weights and inputs, in f32.
#include <span>
#include <string>

#include <catch2/catch.hpp>
#include <flux/latents.hpp>
#include <flux/model_folder.hpp>
#include <flux/models.hpp>
#include <image/tensor_image.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>

#include <precast/io/component_source.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// Runs `body(golden, model, choice)` for each golden folder and f32 path.
template <class Body>
void for_each_golden_model(Body&& body) {
  for (const char* folder : golden_folders) {
    const Golden golden(folder);
    const auto model = flux::ModelFolder::open(golden_model(folder));
    for (const PolicyChoice& choice : f32_choices()) {
      INFO(folder << " under " << to_string(choice));
      body(golden, model, choice);
    }
  }
}

io::ComponentSource weights(const flux::ModelFolder& model, std::string_view component) {
  return io::ComponentSource(model.component(component));
}

flux::PackedLayout layout(const Golden& golden, const flux::ModelFolder& model) {
  return {model.vae.latent_channels, golden.fact("height").get<std::int64_t>() / model.vae.factor(),
          golden.fact("width").get<std::int64_t>() / model.vae.factor()};
}

}  // namespace

TEST_CASE("CLIP's hidden states and pooled embedding are transformers'") {
  for_each_golden_model([](const Golden& golden, const flux::ModelFolder& model, const PolicyChoice& choice) {
    const auto source = weights(model, "text_encoder");
    const auto clip = flux::models_of(families::cpu_backend(), choice).clip(model.clip, source);
    const text::ClipOutput output = clip->encode(golden.ids("clip_ids"));
    CHECK(output.hidden_state.shape() == golden.tensor("clip_hidden").shape());
    CHECK(relative_error(output.hidden_state.values(), golden.tensor("clip_hidden").values()) <=
          largest_error);
    CHECK(relative_error(output.pooled.values(), golden.tensor("clip_pooled").values()) <= largest_error);
  });
}

TEST_CASE("T5's embeddings are transformers', padding included") {
  for_each_golden_model([](const Golden& golden, const flux::ModelFolder& model, const PolicyChoice& choice) {
    const auto source = weights(model, "text_encoder_2");
    const auto t5 = flux::models_of(families::cpu_backend(), choice).t5(model.t5, source);
    const Tensor<f32> embeddings = t5->encode(golden.ids("t5_ids"));
    CHECK(embeddings.shape() == golden.tensor("t5_embeds").shape());
    CHECK(relative_error(embeddings.values(), golden.tensor("t5_embeds").values()) <= largest_error);
  });
}

TEST_CASE("one prediction of the transformer is diffusers'") {
  for_each_golden_model([](const Golden& golden, const flux::ModelFolder& model, const PolicyChoice& choice) {
    const auto source = weights(model, "transformer");
    const auto transformer =
        flux::models_of(families::cpu_backend(), choice).transformer(model.transformer, source);
    const Tensor<f32> noise = golden.tensor("noise"), prompt = golden.tensor("t5_embeds");
    const Tensor<f32> pooled = golden.tensor("clip_pooled");
    const flux::PackedLayout packed = layout(golden, model);
    flux::TransformerInput input;
    input.latents = noise;
    input.prompt = prompt;
    input.pooled = pooled.view().reshaped({1, pooled.elements()});
    input.timestep = golden.tensor("forward.timestep").values()[0];
    input.guidance = golden.tensor("forward.guidance").values()[0];
    input.rows = packed.height / 2;
    input.columns = packed.width / 2;
    const Tensor<f32> velocity = transformer->velocity(input);
    const Tensor<f32> expected = golden.tensor("forward.output");
    CHECK(velocity.shape() == expected.shape());
    CHECK(relative_error(velocity.values(), expected.values()) <= largest_error);

    // A prediction leaves nothing behind that changes the next one.
    const Tensor<f32> again = transformer->velocity(input);
    CHECK(std::equal(again.values().begin(), again.values().end(), velocity.values().begin()));
  });
}

TEST_CASE("the decoder's pictures are diffusers'") {
  for_each_golden_model([](const Golden& golden, const flux::ModelFolder& model, const PolicyChoice& choice) {
    const auto source = weights(model, "vae");
    const auto decoder = flux::models_of(families::cpu_backend(), choice).decoder(model.vae, source);
    const Tensor<f32> packed =
        golden.tensor("latents." + std::to_string(golden.fact("steps").get<int>() - 1));
    const Tensor<f32> latents =
        flux::unscaled(flux::unpack(packed, layout(golden, model)),
                       static_cast<f32>(model.vae.scaling_factor), static_cast<f32>(model.vae.shift_factor));
    const Tensor<f32> pixels = decoder->decode(latents);
    CHECK(relative_error(pixels.values(), golden.channels_last("image").values()) <= largest_error);
    CHECK(largest_difference(image::to_images(pixels).images.at(0), picture_of(golden, "image_u8")) <= 1);
  });
}

TEST_CASE("the encoder's moments are diffusers'") {
  for_each_golden_model([](const Golden& golden, const flux::ModelFolder& model, const PolicyChoice& choice) {
    const auto source = weights(model, "vae");
    const auto encoder = flux::models_of(families::cpu_backend(), choice).encoder(model.vae, source);
    vae::Moments moments = encoder->encode(image::to_tensor(picture_of(golden, "encode.resized_u8")));
    CHECK(relative_error(moments.mean.values(), golden.channels_last("encode.mean").values()) <=
          largest_error);
    for (f32& value : moments.log_variance.values()) value = std::clamp(value, -30.0f, 20.0f);
    CHECK(relative_error(moments.log_variance.values(), golden.channels_last("encode.logvar").values()) <=
          largest_error);
  });
}

TEST_CASE("latents are packed as FluxPipeline packs them, and unpacked again") {
  // Two channels of 2x4: channel c has c * 100 + y * 10 + x.
  const flux::PackedLayout packed{2, 2, 4};
  Tensor<f32> drawn(Shape{1, 2, 2, 4});
  for (int c = 0, i = 0; c < 2; ++c)
    for (int y = 0; y < 2; ++y)
      for (int x = 0; x < 4; ++x) drawn.data()[i++] = static_cast<f32>(c * 100 + y * 10 + x);
  const Tensor<f32> tokens = flux::pack(drawn, 1, packed);
  CHECK(tokens.shape() == Shape{1, 2, 8});
  const std::vector<f32> expected{0, 1, 10, 11, 100, 101, 110, 111, 2, 3, 12, 13, 102, 103, 112, 113};
  CHECK(std::equal(tokens.values().begin(), tokens.values().end(), expected.begin(), expected.end()));
  const Tensor<f32> back = flux::unscaled(flux::unpack(tokens.view().reshaped({2, 8}), packed), 2.0f, 0.5f);
  CHECK(back.shape() == Shape{1, 2, 4, 2});
  CHECK(back.values()[0] == 0.5f);
  CHECK(back.values()[(1 * 4 + 3) * 2 + 1] == 113.0f / 2 + 0.5f);
}
