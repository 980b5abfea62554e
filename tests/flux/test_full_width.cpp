// Flux.1-dev and schnell at their real width, with one layer of each kind and random weights in a file: the
// configs are the released ones but for their depth, and everything else is what a real folder goes through.
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <flux/accounting.hpp>
#include <flux/model_folder.hpp>
#include <flux/pipeline.hpp>
#include <support/golden.hpp>
#include <support/golden_requests.hpp>
#include <support/random_model.hpp>
#include <support/temporary_folder.hpp>

#include <precast/memory/address_sanitizer.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

constexpr const char* index_json = R"({
  "_class_name": "FluxPipeline", "_diffusers_version": "0.30.0.dev0",
  "scheduler": ["diffusers", "FlowMatchEulerDiscreteScheduler"], "text_encoder": ["transformers", "CLIPTextModel"],
  "text_encoder_2": ["transformers", "T5EncoderModel"], "tokenizer": ["transformers", "CLIPTokenizer"],
  "tokenizer_2": ["transformers", "T5TokenizerFast"], "transformer": ["diffusers", "FluxTransformer2DModel"],
  "vae": ["diffusers", "AutoencoderKL"]})";

/// LAYERS and GUIDED are filled in.
constexpr const char* transformer_json = R"({
  "_class_name": "FluxTransformer2DModel", "_diffusers_version": "0.30.0.dev0", "_name_or_path": "../checkpoints/flux",
  "attention_head_dim": 128, "guidance_embeds": GUIDED, "in_channels": 64, "joint_attention_dim": 4096,
  "num_attention_heads": 24, "num_layers": LAYERS, "num_single_layers": SINGLES, "patch_size": 1,
  "pooled_projection_dim": 768})";

constexpr const char* clip_json = R"({
  "_name_or_path": "openai/clip-vit-large-patch14", "architectures": ["CLIPTextModel"], "attention_dropout": 0.0,
  "bos_token_id": 0, "dropout": 0.0, "eos_token_id": 2, "hidden_act": "quick_gelu", "hidden_size": 768,
  "initializer_factor": 1.0, "initializer_range": 0.02, "intermediate_size": 3072, "layer_norm_eps": 1e-05,
  "max_position_embeddings": 77, "model_type": "clip_text_model", "num_attention_heads": 12, "num_hidden_layers": 1,
  "pad_token_id": 1, "projection_dim": 768, "torch_dtype": "bfloat16", "transformers_version": "4.43.3",
  "vocab_size": 49408})";

constexpr const char* t5_json = R"({
  "_name_or_path": "google/t5-v1_1-xxl", "architectures": ["T5EncoderModel"], "classifier_dropout": 0.0, "d_ff": 10240,
  "d_kv": 64, "d_model": 4096, "decoder_start_token_id": 0, "dense_act_fn": "gelu_new", "dropout_rate": 0.1,
  "eos_token_id": 1, "feed_forward_proj": "gated-gelu", "initializer_factor": 1.0, "is_encoder_decoder": true,
  "is_gated_act": true, "layer_norm_epsilon": 1e-06, "model_type": "t5", "num_decoder_layers": 24, "num_heads": 64,
  "num_layers": 1, "output_past": true, "pad_token_id": 0, "relative_attention_max_distance": 128,
  "relative_attention_num_buckets": 32, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
  "transformers_version": "4.43.3", "use_cache": true, "vocab_size": 32128})";

constexpr const char* vae_json = R"({
  "_class_name": "AutoencoderKL", "_diffusers_version": "0.30.0.dev0", "_name_or_path": "../checkpoints/flux",
  "act_fn": "silu", "block_out_channels": [128, 256, 512, 512],
  "down_block_types": ["DownEncoderBlock2D", "DownEncoderBlock2D", "DownEncoderBlock2D", "DownEncoderBlock2D"],
  "force_upcast": true, "in_channels": 3, "latent_channels": 16, "latents_mean": null, "latents_std": null,
  "layers_per_block": 2, "mid_block_add_attention": true, "norm_num_groups": 32, "out_channels": 3,
  "sample_size": 1024, "scaling_factor": 0.3611, "shift_factor": 0.1159,
  "up_block_types": ["UpDecoderBlock2D", "UpDecoderBlock2D", "UpDecoderBlock2D", "UpDecoderBlock2D"],
  "use_post_quant_conv": false, "use_quant_conv": false})";

constexpr const char* dev_scheduler_json = R"({
  "_class_name": "FlowMatchEulerDiscreteScheduler", "_diffusers_version": "0.30.0.dev0", "base_image_seq_len": 256,
  "base_shift": 0.5, "max_image_seq_len": 4096, "max_shift": 1.15, "num_train_timesteps": 1000, "shift": 3.0,
  "use_dynamic_shifting": true})";
constexpr const char* schnell_scheduler_json = R"({
  "_class_name": "FlowMatchEulerDiscreteScheduler", "_diffusers_version": "0.30.0.dev0", "base_image_seq_len": 256,
  "base_shift": 0.5, "max_image_seq_len": 4096, "max_shift": 1.15, "num_train_timesteps": 1000, "shift": 1.0,
  "use_dynamic_shifting": false})";

std::string filled_transformer_json(bool guided, int layers, int singles) {
  std::string text = transformer_json;
  const auto fill = [&](const std::string& what, const std::string& value) {
    text.replace(text.find(what), what.size(), value);
  };
  fill("GUIDED", guided ? "true" : "false");
  fill("LAYERS", std::to_string(layers));
  fill("SINGLES", std::to_string(singles));
  return text;
}

/// A folder's configs and tokenizers. The vocabularies are a golden folder's: the embeddings have rows to
/// spare.
void write_configs(const std::filesystem::path& folder, bool guided, int layers, int singles) {
  write_text(folder / "model_index.json", index_json);
  write_text(folder / "transformer/config.json", filled_transformer_json(guided, layers, singles));
  write_text(folder / "text_encoder/config.json", clip_json);
  write_text(folder / "text_encoder_2/config.json", t5_json);
  write_text(folder / "vae/config.json", vae_json);
  write_text(folder / "scheduler/scheduler_config.json",
             guided ? dev_scheduler_json : schnell_scheduler_json);
  for (const char* tokenizer : {"tokenizer", "tokenizer_2"})
    std::filesystem::copy(golden_model("dev_f32") / tokenizer, folder / tokenizer);
}

/// dev and schnell, which share all weights but the guidance embedder.
class FullWidth {
 public:
  FullWidth() {
    write_configs(dev(), true, 1, 1);
    write_configs(schnell(), false, 1, 1);
    const auto model = flux::ModelFolder::open(dev());
    write<bf16>("transformer", "diffusion_pytorch_model.safetensors", tensors_of(model.transformer), "BF16");
    write<f16>("text_encoder", "model.safetensors", tensors_of(model.clip), "F16");
    write<bf16>("text_encoder_2", "model.safetensors", tensors_of(model.t5), "BF16");
    write<f16>("vae", "diffusion_pytorch_model.safetensors", tensors_of(model.vae), "F16");
  }
  std::filesystem::path dev() const { return folder_.path() / "dev"; }
  std::filesystem::path schnell() const { return folder_.path() / "schnell"; }

 private:
  template <class T>
  void write(const std::string& component, const std::string& file, const TensorShapes& shapes,
             const std::string& dtype) const {
    write_random_weights<T>(dev() / component / file, shapes, dtype);
    std::filesystem::create_hard_link(dev() / component / file, schnell() / component / file);
  }
  TemporaryFolder folder_;
};

/// bf16 with flash attention where this build has it.
PolicyChoice narrow_choice() {
  for (const char* preset : {"fast", "memory", "balanced", "quality"})
    if (path_compiled(preset_named(preset)->choice)) return preset_named(preset)->choice;
  throw Error("no preset is compiled in");
}

flux::Request tiny_request() {
  flux::Request request;
  request.prompts = {"a large red circle"};
  request.seed = 42;
  request.steps = 1;
  request.width = 64;
  request.height = 32;
  request.max_sequence_length = 16;
  return request;
}

}  // namespace

TEST_CASE("Flux.1-dev and schnell run at full width") {
  const FullWidth models;
  const PolicyChoice choice = narrow_choice();
  std::vector<Tensor<f32>> latents;
  for (const auto& folder : {models.dev(), models.schnell()}) {
    INFO(folder << " under " << to_string(choice));
    const flux::FluxPipeline pipeline(folder, flux::ComponentChoices::all(choice));
    const flux::Request request = tiny_request();
    flux::Result result = pipeline.generate(request);
    CHECK(result.latents.shape() == Shape{1, 8, 64});
    bool finite = true;
    for (const f32 value : result.latents.values()) finite = finite && std::isfinite(value);
    CHECK(finite);
    REQUIRE(result.images.size() == 1);
    CHECK(result.images[0].width == 64);
    CHECK(result.images[0].height == 32);
    // Weights and results of the widest component: the transformer. Not what this process held before.
    const families::MemoryEstimate estimate = pipeline.estimate(request);
    const std::int64_t estimated = estimate.held + estimate.needed();
    INFO("estimated " << estimated << ", took " << result.peak_bytes);
    CHECK(estimated >= result.peak_bytes);
    if (!PRECAST_HAS_ADDRESS_SANITIZER)  // whose own memory the process holds
      CHECK(static_cast<double>(estimated) <= 1.2 * static_cast<double>(result.peak_bytes));
    latents.push_back(std::move(result.latents));
  }
  // Same seed and weights, but one has guidance.
  CHECK(relative_error(latents[0].values(), latents[1].values()) > 1e-3);
}

TEST_CASE("Flux.1-dev's and schnell's real configs open at full depth, and count their parameters") {
  for (const bool guided : {true, false}) {
    const TemporaryFolder temporary;
    const std::filesystem::path folder = temporary.path() / "model";
    write_configs(folder, guided, 19, 38);
    const auto model = flux::ModelFolder::open(folder);
    CHECK(model.transformer.inner_dim() == 3072);
    CHECK(model.transformer.axes_dims_rope == std::vector<std::int64_t>{16, 56, 56});
    CHECK(model.transformer.out_channels == 64);
    CHECK(model.vae.factor() == 8);
    std::int64_t parameters = 0;
    for (const auto& [name, shape] : tensors_of(model.transformer)) parameters += shape.elements();
    CHECK(parameters == (guided ? 11901408320 : 11891178560));
    CHECK(flux::account(model.transformer).parameters() == parameters);

    // What a full run takes, told before there are any weights.
    const flux::FluxPipeline pipeline(folder, flux::ComponentChoices::all(narrow_choice()));
    flux::Request request;
    request.prompts = {"a large red circle"};
    const families::ResolvedRequest full = pipeline.with_defaults(request);
    CHECK(full.width == 1024);
    CHECK(full.height == 1024);
    CHECK(full.steps == (guided ? 28 : 4));
    const auto estimate = pipeline.estimate(request);
    // As stored, and biases in f32: less than a thousandth more.
    const std::int64_t stored = parameters * static_cast<std::int64_t>(bytes_of(narrow_choice().precision));
    CHECK(estimate.components.at(2).component == "transformer");
    CHECK(estimate.components.at(2).weights >= stored);
    CHECK(estimate.components.at(2).weights < stored + stored / 1000);
  }
}
