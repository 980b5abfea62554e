// The estimate holds what a run takes, and not much more; what does not fit is refused before anything is
// loaded.
#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <flux/memory_estimate.hpp>
#include <flux/models.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>
#include <support/random_model.hpp>

#include <precast/tensor/memory.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// The peak of tensor memory while `run` runs, beyond what is in use before.
template <class Run>
std::int64_t peak_of(Run&& run) {
  const std::int64_t before = memory_use().in_use;
  reset_peak_memory();
  run();
  release_cached_memory();
  return memory_use().peak - before;
}

/// Holds if `component`'s estimate is at least what was measured, and at most half as much again.
void check_estimate(const flux::MemoryEstimate& estimate, const std::string& component,
                    std::int64_t measured) {
  for (const flux::ComponentMemory& part : estimate.components) {
    if (part.component != component) continue;
    INFO(component << ": estimated " << part.weights << " + " << part.activations << ", measured "
                   << measured);
    CHECK(part.weights + part.activations >= measured);
    CHECK(static_cast<double>(part.weights + part.activations) <= 1.5 * static_cast<double>(measured));
    return;
  }
  FAIL("no estimate for " << component);
}

Tensor<f32> zeros(const Shape& shape) {
  Tensor<f32> values(shape);
  std::fill(values.values().begin(), values.values().end(), 0.25f);
  return values;
}

/// A model whose parts keep the real proportions, at a size that a test can afford.
flux::ModelFolder middle_sized() {
  flux::ModelFolder model;
  model.transformer.num_layers = 1;
  model.transformer.num_single_layers = 1;
  model.transformer.num_attention_heads = 6;
  model.transformer.joint_attention_dim = 512;
  model.transformer.pooled_projection_dim = 256;
  model.transformer.guidance_embeds = true;
  model.clip.vocab_size = 4000;
  model.clip.hidden_size = 256;
  model.clip.intermediate_size = 1024;
  model.clip.num_hidden_layers = 2;
  model.clip.num_attention_heads = 4;
  model.t5.vocab_size = 4000;
  model.t5.d_model = 512;
  model.t5.d_ff = 1280;
  model.t5.num_layers = 2;
  model.t5.num_heads = 8;
  model.vae.block_out_channels = {32, 64, 128, 128};
  model.vae.norm_num_groups = 16;
  return model;
}

/// Loads and runs each component alone, and compares its peak with its estimate.
void check_components(const flux::ModelFolder& model, const PolicyChoice& choice, const flux::RunSize& size) {
  INFO(to_string(choice) << ", " << size.t5_tokens << " + " << size.image_tokens << " tokens");
  const auto estimate = flux::estimate_memory(model, flux::ComponentChoices::all(choice), size);
  const RandomSource<bf16> clip_weights(tensors_of(model.clip)), t5_weights(tensors_of(model.t5)),
      transformer_weights(tensors_of(model.transformer)), vae_weights(tensors_of(model.vae));
  const std::vector<std::int32_t> clip_ids(static_cast<std::size_t>(size.clip_tokens), 3),
      t5_ids(static_cast<std::size_t>(size.t5_tokens), 5);
  check_estimate(
      estimate, "text_encoder", peak_of([&] {
        flux::models_of(families::cpu_backend(), choice).clip(model.clip, clip_weights)->encode(clip_ids);
      }));
  check_estimate(estimate, "text_encoder_2", peak_of([&] {
                   flux::models_of(families::cpu_backend(), choice).t5(model.t5, t5_weights)->encode(t5_ids);
                 }));
  check_estimate(
      estimate, "transformer", peak_of([&] {
        const Tensor<f32> latents = zeros({size.image_tokens, model.transformer.in_channels});
        const Tensor<f32> prompt = zeros({size.t5_tokens, model.transformer.joint_attention_dim});
        const Tensor<f32> pooled = zeros({1, model.transformer.pooled_projection_dim});
        flux::models_of(families::cpu_backend(), choice)
            .transformer(model.transformer, transformer_weights)
            ->velocity({latents, prompt, pooled, 0.5f, 3.5f, size.latent_height / 2, size.latent_width / 2});
      }));
  check_estimate(
      estimate, "vae", peak_of([&] {
        const Tensor<f32> latents =
            zeros({1, size.latent_height, size.latent_width, model.vae.latent_channels});
        flux::models_of(families::cpu_backend(), choice).decoder(model.vae, vae_weights)->decode(latents);
      }));
  check_estimate(
      estimate, "vae encoder", peak_of([&] {
        const std::int64_t factor = model.vae.factor();
        const Tensor<f32> pixels = zeros({1, size.latent_height * factor, size.latent_width * factor, 3});
        flux::models_of(families::cpu_backend(), choice).encoder(model.vae, vae_weights)->encode(pixels);
      }));
}

}  // namespace

TEST_CASE("each component's estimate holds its peak and at most half as much again, under every policy") {
  const flux::ModelFolder model = middle_sized();
  for (const PolicyChoice& choice : compiled_choices()) {
    // Few tokens, where weights weigh most; many, where results do.
    check_components(model, choice, {77, 64, 8 * 10, 16, 20, 1, true});
    check_components(model, choice, {77, 512, 16 * 24, 32, 48, 1, true});
  }
}

TEST_CASE("a whole run stays within its estimate") {
  for (const char* folder : golden_folders)
    for (const PolicyChoice& choice : compiled_choices()) {
      INFO(folder << " under " << to_string(choice));
      const Golden golden(folder);
      const auto pipeline = open_golden(folder, choice);
      flux::Request request = request_of(golden);
      request.prompts.emplace_back("another one");
      request.batch = 2;
      const flux::MemoryEstimate estimate = pipeline.estimate(request);
      CHECK(estimate.components.size() == 4);
      CHECK(estimate.peak() >= pipeline.generate(request).peak_bytes);
    }
}

TEST_CASE("what does not fit is refused before anything is loaded, in one line that helps") {
  for (const PolicyChoice& choice : f32_choices()) {
    if (choice.flash) continue;
    // 16 million tokens, and 268 million pixels.
    const auto pipeline = open_golden("dev_f32", choice);
    flux::Request request;
    request.prompts = {"a very large circle"};
    request.width = request.height = 16384;
    int calls = 0;
    reset_peak_memory();
    const std::int64_t before = memory_use().in_use;
    std::string message;
    try {
      pipeline.generate(request, [&](const flux::Progress&) { ++calls; });
    } catch (const OutOfMemory& error) {
      message = error.what();
    }
    CHECK_THAT(message, Catch::Contains(" needs ") && Catch::Contains("are free: try --preset memory") &&
                            Catch::Contains("GiB") && !Catch::Contains("\n"));
    CHECK(calls == 0);
    CHECK(memory_use().peak == before);
  }
}

TEST_CASE("the estimate counts weights as the policy stores them") {
  for (const PolicyChoice& choice : compiled_choices()) {
    const flux::ModelFolder model = middle_sized();
    const auto estimate =
        flux::estimate_memory(model, flux::ComponentChoices::all(choice), {77, 8, 4, 4, 4, 1, false});
    std::int64_t parameters = 0;
    for (const auto& [name, shape] : tensors_of(model.transformer)) parameters += shape.elements();
    CHECK(estimate.components.at(2).component == "transformer");
    CHECK(estimate.components.at(2).weights == parameters * (choice.precision == precision_of<f32> ? 4 : 2));
  }
}
