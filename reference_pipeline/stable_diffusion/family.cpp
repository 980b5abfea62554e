// Stable Diffusion's classes, folders and config keys, as a family.
#include <array>
#include <string>

#include <stable_diffusion/family.hpp>
#include <stable_diffusion/models.hpp>
#include <stable_diffusion/pipeline.hpp>
#include <stable_diffusion/unet_tensors.hpp>
#include <stable_diffusion/weight_file.hpp>

#include <precast/io/number_text.hpp>

namespace precast::stable_diffusion {

namespace {

using families::ComponentInfo, families::Role;

constexpr std::array components{ComponentInfo{"text_encoder", Role::text_encoder},
                                ComponentInfo{"text_encoder_2", Role::text_encoder},
                                ComponentInfo{"unet", Role::denoiser}, ComponentInfo{"vae", Role::vae}};
/// Pipeline classes differ in their arguments; a model's abilities follow from its components.
constexpr std::array<std::string_view, 8> pipeline_classes{
    "StableDiffusionPipeline",          "StableDiffusionImg2ImgPipeline",
    "StableDiffusionInpaintPipeline",   "StableDiffusionXLPipeline",
    "StableDiffusionXLImg2ImgPipeline", "StableDiffusionXLInpaintPipeline",
    "LatentConsistencyModelPipeline",   "LatentConsistencyModelImg2ImgPipeline"};
/// Pipelines with weights for other purposes, by prefixes of their names, longer ones first.
constexpr std::array<families::RelatedClasses, 9> related_classes{
    {{"StableDiffusion3", "a Stable Diffusion 3 model, which is another architecture"},
     {"StableDiffusionXLControlNet", "a ControlNet model, which follows a second picture"},
     {"StableDiffusionControlNet", "a ControlNet model, which follows a second picture"},
     {"StableDiffusionXLInstructPix2Pix", "an InstructPix2Pix model, which edits a picture as instructed"},
     {"StableDiffusionInstructPix2Pix", "an InstructPix2Pix model, which edits a picture as instructed"},
     {"StableDiffusionUpscale", "an upscaler, which begins with a small picture"},
     {"StableDiffusionLatentUpscale", "an upscaler, which begins with small latents"},
     {"StableDiffusionDepth2Img", "a depth model, which also takes a map of depths"},
     {"StableDiffusion", "an unknown kind of Stable Diffusion"}}};
constexpr std::array<std::string_view, 3> other_folders{"scheduler", "tokenizer", "tokenizer_2"};
constexpr std::array<std::string_view, 34> config_keys{"block_out_channels",
                                                       "down_block_types",
                                                       "layers_per_block",
                                                       "attention_head_dim",
                                                       "transformer_layers_per_block",
                                                       "cross_attention_dim",
                                                       "use_linear_projection",
                                                       "in_channels",
                                                       "addition_embed_type",
                                                       "addition_time_embed_dim",
                                                       "projection_class_embeddings_input_dim",
                                                       "time_cond_proj_dim",
                                                       "upcast_attention",
                                                       "num_hidden_layers",
                                                       "num_attention_heads",
                                                       "hidden_size",
                                                       "intermediate_size",
                                                       "projection_dim",
                                                       "vocab_size",
                                                       "max_position_embeddings",
                                                       "hidden_act",
                                                       "eos_token_id",
                                                       "latent_channels",
                                                       "norm_num_groups",
                                                       "scaling_factor",
                                                       "force_upcast",
                                                       "num_train_timesteps",
                                                       "beta_schedule",
                                                       "beta_start",
                                                       "beta_end",
                                                       "prediction_type",
                                                       "timestep_spacing",
                                                       "model_max_length",
                                                       "sample_size"};

// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): final
class StableDiffusionFamily final : public families::Family {
 public:
  std::string_view name() const override { return "Stable Diffusion"; }
  std::span<const std::string_view> pipeline_classes() const override {
    return stable_diffusion::pipeline_classes;
  }
  std::span<const families::RelatedClasses> related_classes() const override {
    return stable_diffusion::related_classes;
  }
  std::span<const ComponentInfo> components() const override { return stable_diffusion::components; }
  std::span<const std::string_view> other_folders() const override { return stable_diffusion::other_folders; }
  std::span<const std::string_view> config_keys() const override { return stable_diffusion::config_keys; }
  std::optional<families::ParameterAccounting> account(std::string_view class_name,
                                                       const std::filesystem::path& config) const override {
    if (class_name != "UNet2DConditionModel") return std::nullopt;
    const std::int64_t parameters = unet_parameters(UNetConfig::load(config));
    return families::ParameterAccounting{parameters,
                                         "unet, by its config",
                                         {{"  parameters", io::with_commas(parameters)}},
                                         {{"parameters", parameters}}};
  }
  bool has_models(std::span<const families::FamilyModels> models) const override {
    return families::models_among<Models>(models) != nullptr;
  }
  std::unique_ptr<families::Pipeline> open(const std::filesystem::path& folder,
                                           const families::ComponentChoices& choices,
                                           const families::Backend& backend) const override {
    return std::make_unique<StableDiffusionPipeline>(folder, choices, backend);
  }
  bool opens_files() const override { return true; }
  bool knows_file(const std::filesystem::path& file) const override {
    return weight_file(io::ComponentSource(file)).has_value();
  }
  std::unique_ptr<families::Pipeline> open_files(const families::ModelFiles& files,
                                                 const families::ComponentChoices& choices,
                                                 const families::Backend& backend) const override {
    return std::make_unique<StableDiffusionPipeline>(files, choices, backend);
  }
};

}  // namespace

const families::Family& family() {
  static const StableDiffusionFamily stable_diffusion;
  return stable_diffusion;
}

}  // namespace precast::stable_diffusion
