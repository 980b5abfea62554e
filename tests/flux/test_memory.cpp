// The estimate holds what a run takes, and not much more; what does not fit is refused before anything is
// loaded.
#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <flux/model_folder.hpp>
#include <flux/models.hpp>
#include <support/check_estimate.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>
#include <support/random_model.hpp>

#include <precast/host/runtime/parallel.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/memory/memory.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

Tensor<f32> zeros(const Shape& shape) {
  Tensor<f32> values(shape);
  if (!DryRun::active()) std::fill(values.values().begin(), values.values().end(), 0.25f);
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

/// The sizes that memory depends on.
struct RunSize {
  std::int64_t clip_tokens = 0, t5_tokens = 0;
  std::int64_t latent_height = 0, latent_width = 0;

  std::int64_t image_tokens() const { return latent_height / 2 * (latent_width / 2); }
};

/// Loads and runs each component alone, and compares what it takes with its dry run.
void check_components(const flux::ModelFolder& model, const PolicyChoice& choice, const RunSize& size) {
  INFO(to_string(choice) << ", " << size.t5_tokens << " + " << size.image_tokens() << " tokens");
  const flux::Models& models = flux::models_of(families::cpu_backend(), choice);
  const RandomSource<bf16> clip_weights(tensors_of(model.clip)), t5_weights(tensors_of(model.t5)),
      transformer_weights(tensors_of(model.transformer)), vae_weights(tensors_of(model.vae));
  const std::vector<std::int32_t> clip_ids(static_cast<std::size_t>(size.clip_tokens), 3),
      t5_ids(static_cast<std::size_t>(size.t5_tokens), 5);
  check_estimate(
      "CLIP", [&] { return models.clip(model.clip, clip_weights); },
      [&](const auto& clip) { clip.encode(clip_ids); });
  check_estimate(
      "T5", [&] { return models.t5(model.t5, t5_weights); }, [&](const auto& t5) { t5.encode(t5_ids); });
  check_estimate(
      "transformer", [&] { return models.transformer(model.transformer, transformer_weights); },
      [&](const auto& transformer) {
        const Tensor<f32> latents = zeros({size.image_tokens(), model.transformer.in_channels});
        const Tensor<f32> prompt = zeros({size.t5_tokens, model.transformer.joint_attention_dim});
        const Tensor<f32> pooled = zeros({1, model.transformer.pooled_projection_dim});
        transformer.velocity(
            {latents, prompt, pooled, 0.5f, 3.5f, size.latent_height / 2, size.latent_width / 2});
      });
  check_estimate(
      "decoder", [&] { return models.decoder(model.vae, vae_weights); },
      [&](const auto& decoder) {
        decoder.decode(zeros({1, size.latent_height, size.latent_width, model.vae.latent_channels}));
      });
  check_estimate(
      "decoder in bands", [&] { return models.decoder(model.vae, vae_weights); },
      [&](const auto& decoder) {
        decoder.decode(zeros({1, size.latent_height, size.latent_width, model.vae.latent_channels}),
                       vae::Tiling{1 << 12});
      });
  check_estimate(
      "encoder", [&] { return models.encoder(model.vae, vae_weights); },
      [&](const auto& encoder) {
        const std::int64_t factor = model.vae.factor();
        encoder.encode(zeros({1, size.latent_height * factor, size.latent_width * factor, 3}));
      });
}

}  // namespace

TEST_CASE("a dry run of each component takes what the component takes, under every policy", "[many_runs]") {
  const flux::ModelFolder model = middle_sized();
  for (const PolicyChoice& choice : compiled_choices()) {
    // Few tokens, where weights weigh most; many, where results do, for policies that cast nothing or all.
    check_components(model, choice, {77, 64, 12, 16});
    const int casts =
        choice.options.upcast_attention + choice.options.upcast_matmul + choice.options.upcast_conv;
    if (casts == 0 || casts == 3) check_components(model, choice, {77, 512, 20, 28});
  }
}

TEST_CASE("a whole run stays within its estimate", "[many_runs]") {
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
      CHECK(estimate.needed() >= pipeline.generate(request).peak_bytes);
    }
}

TEST_CASE("what does not fit is refused before anything is loaded, in one line that helps") {
  for (const PolicyChoice& choice : f32_choices()) {
    if (choice.options.flash) continue;
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
    CHECK_THAT(message, Catch::Contains(" needs ") &&
                            Catch::Contains("are free: try --vae-tiling, or --preset memory") &&
                            Catch::Contains("GiB") && !Catch::Contains("\n"));
    CHECK(calls == 0);
    CHECK(memory_use().peak == before);
  }
}

TEST_CASE("a dry run of Flux.1-dev at 1024 x 1024 takes a blink, and reads no weights") {
  const flux::TransformerConfig config = [] {
    flux::TransformerConfig dev;
    dev.guidance_embeds = true;
    return dev;
  }();
  /// Weights that are nowhere.
  class Shapes final : public nn::ParameterSource {
   public:
    explicit Shapes(TensorShapes shapes) : shapes_(std::move(shapes)) {}
    bool contains(std::string_view name) const override { return shapes_.contains(name); }
    nn::Parameter find(std::string_view name) const override {
      return {dtype_info<bf16>, shapes_.find(name)->second, {}};
    }
    std::string description() const override { return "shapes"; }
    void taken(std::size_t) const override {}

   private:
    TensorShapes shapes_;
  };
  const Shapes source(tensors_of(config));
  std::int64_t parameters = 0;
  for (const auto& [name, shape] : tensors_of(config)) parameters += shape.elements();
  for (const PolicyChoice& choice : compiled_choices()) {
    INFO(to_string(choice));
    const auto start = std::chrono::steady_clock::now();
    DryRun dry;
    const auto transformer = flux::models_of(families::cpu_backend(), choice).transformer(config, source);
    const std::int64_t weights = dry.in_use(), bytes = static_cast<std::int64_t>(bytes_of(choice.precision));
    const std::int64_t held =
        std::min<std::int64_t>(bytes, sizeof(bf16));  // f32 policies keep the file's bf16
    CHECK(weights >= parameters * held);
    CHECK(weights < parameters * held + parameters / 100);  // biases, which are held in f32
    transformer->velocity({zeros({4096, config.in_channels}), zeros({512, config.joint_attention_dim}),
                           zeros({1, config.pooled_projection_dim}), 0.5f, 3.5f, 64, 64});
    const std::int64_t stream = (4096 + 512) * config.inner_dim() * bytes;
    CHECK(dry.peak() - weights > 8 * stream);
    CHECK(dry.peak() - weights < 60 * stream);
    CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(5));  // a machine may be busy
  }
}
