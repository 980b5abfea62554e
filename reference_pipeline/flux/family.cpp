// FluxFamily: Flux's pipeline classes, its folders and its parameter counts.
#include <array>
#include <string>

#include <flux/accounting.hpp>
#include <flux/family.hpp>
#include <flux/models.hpp>
#include <flux/pipeline.hpp>
#include <flux/transformer.hpp>

#include <precast/io/number_text.hpp>

namespace precast::flux {

namespace {

using families::ComponentInfo, families::Role;

constexpr std::array components{
    ComponentInfo{"text_encoder", Role::text_encoder}, ComponentInfo{"text_encoder_2", Role::t5_encoder},
    ComponentInfo{"transformer", Role::denoiser}, ComponentInfo{"vae", Role::vae}};
/// Pipelines of the plain models, which differ in their requests but not in their weights.
constexpr std::array<std::string_view, 3> pipeline_classes{"FluxPipeline", "FluxImg2ImgPipeline",
                                                           "FluxInpaintPipeline"};
/// Prefixes of pipelines whose weights take more than a prompt, and would make wrong pictures if run as
/// plain Flux; longer prefixes first.
constexpr std::array<families::RelatedClasses, 7> related_classes{
    {{"Flux2", "a FLUX.2 model, which is another architecture"},
     {"FluxKontext", "a Flux Kontext model, which edits a picture that it is given"},
     {"FluxFill", "a Flux Fill model, which fills the part of a picture that a mask names"},
     {"FluxControlNet", "a Flux ControlNet model, which follows a second picture"},
     {"FluxControl", "a Flux Control model, which follows a map of edges or depths"},
     {"FluxPriorRedux", "a Flux Redux model, which begins with a picture in place of a prompt"},
     {"Flux", "an unknown kind of Flux"}}};
constexpr std::array<std::string_view, 3> other_folders{"scheduler", "tokenizer", "tokenizer_2"};
constexpr std::array<std::string_view, 36> config_keys{"num_layers",
                                                       "num_single_layers",
                                                       "num_hidden_layers",
                                                       "num_attention_heads",
                                                       "attention_head_dim",
                                                       "num_heads",
                                                       "d_kv",
                                                       "hidden_size",
                                                       "d_model",
                                                       "intermediate_size",
                                                       "d_ff",
                                                       "joint_attention_dim",
                                                       "pooled_projection_dim",
                                                       "in_channels",
                                                       "axes_dims_rope",
                                                       "guidance_embeds",
                                                       "vocab_size",
                                                       "max_position_embeddings",
                                                       "hidden_act",
                                                       "feed_forward_proj",
                                                       "eos_token_id",
                                                       "block_out_channels",
                                                       "layers_per_block",
                                                       "latent_channels",
                                                       "norm_num_groups",
                                                       "use_quant_conv",
                                                       "use_post_quant_conv",
                                                       "scaling_factor",
                                                       "shift_factor",
                                                       "num_train_timesteps",
                                                       "shift",
                                                       "use_dynamic_shifting",
                                                       "base_shift",
                                                       "max_shift",
                                                       "model_max_length",
                                                       "sample_size"};

families::ParameterAccounting described(const Accounting& a) {
  const auto each = [](std::int64_t count, std::int64_t size) {
    return std::to_string(count) + " x " + io::with_commas(size);
  };
  return {a.parameters(),
          "transformer, as casting reports count it",
          {{"  double blocks, weights", each(a.double_blocks, a.double_block_weights)},
           {"  single blocks, weights", each(a.single_blocks, a.single_block_weights)},
           {"  quantisable, weights", io::with_commas(a.block_weights()), "patched in: biases left alone"},
           {"  quantisable, with biases", io::with_commas(a.quantisable()), "on the fly"},
           {"  biases", io::with_commas(a.biases()),
            io::with_commas(a.block_biases) + " in blocks, " + io::with_commas(a.entry_and_exit_biases) +
                " in entry and exit"},
           {"  entry and exit", io::with_commas(a.entry_and_exit), "never cast; its biases are in it"},
           {"  norm scales", io::with_commas(a.norm_scales), "never cast"},
           {"  parameters", io::with_commas(a.parameters())}},
          {{"double_blocks", a.double_blocks},
           {"single_blocks", a.single_blocks},
           {"double_block", a.double_block_weights},
           {"single_block", a.single_block_weights},
           {"quantisable", a.quantisable()},
           {"quantisable_without_biases", a.block_weights()},
           {"biases", a.biases()},
           {"block_biases", a.block_biases},
           {"entry_and_exit", a.entry_and_exit},
           {"entry_and_exit_biases", a.entry_and_exit_biases},
           {"norm_scales", a.norm_scales},
           {"parameters", a.parameters()}}};
}

// NOLINTNEXTLINE(cppcoreguidelines-virtual-class-destructor): final
class FluxFamily final : public families::Family {
 public:
  std::string_view name() const override { return "Flux"; }
  std::span<const std::string_view> pipeline_classes() const override { return flux::pipeline_classes; }
  std::span<const families::RelatedClasses> related_classes() const override { return flux::related_classes; }
  std::span<const ComponentInfo> components() const override { return flux::components; }
  std::span<const std::string_view> other_folders() const override { return flux::other_folders; }
  std::span<const std::string_view> config_keys() const override { return flux::config_keys; }
  bool guidance_is_distilled() const override { return true; }
  std::optional<families::ParameterAccounting> account(std::string_view class_name,
                                                       const std::filesystem::path& config) const override {
    if (class_name != "FluxTransformer2DModel") return std::nullopt;
    return described(flux::account(TransformerConfig::load(config)));
  }
  bool has_models(std::span<const families::FamilyModels> models) const override {
    return families::models_among<Models>(models) != nullptr;
  }
  std::unique_ptr<families::Pipeline> open(const std::filesystem::path& folder,
                                           const families::ComponentChoices& choices,
                                           const families::Backend& backend) const override {
    return std::make_unique<FluxPipeline>(folder, choices, backend);
  }
  bool opens_files() const override { return true; }
  std::unique_ptr<families::Pipeline> open_files(const families::ModelFiles& files,
                                                 const families::ComponentChoices& choices,
                                                 const families::Backend& backend) const override {
    return std::make_unique<FluxPipeline>(files, choices, backend);
  }
};

}  // namespace

const families::Family& family() {
  static const FluxFamily flux;
  return flux;
}

}  // namespace precast::flux
