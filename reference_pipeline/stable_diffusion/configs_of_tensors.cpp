// Derives configs from the shapes of tensors.
#include <algorithm>
#include <string>

#include <stable_diffusion/configs_of_tensors.hpp>
#include <text/openclip_names.hpp>
#include <weights/component_facts.hpp>

#include <precast/io/message.hpp>

namespace precast::stable_diffusion {

namespace {

constexpr std::int64_t published_groups = 32, published_head = 64;
constexpr std::string_view layers_of_text = "text_model.encoder.layers.";

/// The shape of a parameter, which must have this rank; trailing ones may be missing.
Shape required(const ComponentWeights& weights, const std::string& name, std::size_t rank) {
  if (!weights.contains(name))
    throw weights.error("lacks " + io::printable(weights.stored_name(name)) +
                        ": the file is incomplete, get it again");
  return weights::required_shape(weights, name, rank, weights::LastOnes::may_be_missing);
}

bool has(const ComponentWeights& weights, const std::string& name) { return weights.contains(name); }

/// Levels, blocks and depths of a UNet; heads are not set.
UNetConfig unet_sizes(const ComponentWeights& weights) {
  UNetConfig config;
  config.in_channels = required(weights, "conv_in.weight", 4)[1];
  config.out_channels = required(weights, "conv_out.weight", 4)[0];
  config.time_width = required(weights, "time_embedding.linear_1.weight", 2)[0];
  if (has(weights, "time_embedding.cond_proj.weight"))
    config.guidance_channels = required(weights, "time_embedding.cond_proj.weight", 2)[1];
  config.text_time = has(weights, "add_embedding.linear_1.weight");
  if (config.text_time) {
    constexpr std::int64_t published_time_ids = 256;
    config.time_id_channels = published_time_ids;
    config.text_time_width = required(weights, "add_embedding.linear_1.weight", 2)[1];
  }
  const std::int64_t levels = weights.blocks("down_blocks.");
  if (levels == 0) throw weights.error("lacks the blocks of a UNet: the file is incomplete, get it again");
  config.mid_block = has(weights, "mid_block.attentions.0.norm.weight") ? UNetConfig::MidBlockType::attention
                                                                        : UNetConfig::MidBlockType::residual;
  for (std::int64_t i = 0; i < levels; ++i) {
    const std::string down = "down_blocks." + std::to_string(i) + ".",
                      up = "up_blocks." + std::to_string(levels - 1 - i) + ".";
    UNetLevel level;
    level.channels = required(weights, down + "resnets.0.conv2.weight", 4)[0];
    level.layers = weights.blocks(down + "resnets.");
    level.attention_down = has(weights, down + "attentions.0.norm.weight");
    level.attention_up = has(weights, up + "attentions.0.norm.weight");
    const auto depth = [&](const std::string& side, std::int64_t layer) {
      return weights.blocks(side + "attentions." + std::to_string(layer) + ".transformer_blocks.");
    };
    for (std::int64_t layer = 0; layer < level.layers; ++layer)
      level.depths_down.push_back(depth(down, layer));
    for (std::int64_t layer = 0; layer <= level.layers; ++layer) level.depths_up.push_back(depth(up, layer));
    const bool middle = i + 1 == levels && config.mid_block == UNetConfig::MidBlockType::attention;
    if (middle) config.mid_block_depth = weights.blocks("mid_block.attentions.0.transformer_blocks.");
    const std::string transformer = (level.attention_down ? down + "attentions.0."
                                     : level.attention_up ? up + "attentions.0."
                                     : middle             ? "mid_block.attentions.0."
                                                          : "");
    if (!transformer.empty()) {
      config.context_width = required(weights, transformer + "transformer_blocks.0.attn2.to_k.weight", 2)[1];
      required(weights, transformer + "proj_in.weight", 4);
      config.linear_projection = weights.shape(transformer + "proj_in.weight")->rank() == 2;
    }
    config.levels.push_back(level);
  }
  return config;
}

weights::Agreement agreement_of(const ComponentWeights& weights, const std::filesystem::path& config) {
  return {weights, config, "give a file and a folder that belong together"};
}

/// The number of layers to run, if no config gives it: for 2.x without the last layer of a complete
/// OpenCLIP, recognised by its 24 layers or by tensors that text encoders in folders lack.
std::int64_t text_layers(const ComponentWeights& weights, Kind kind) {
  constexpr std::int64_t of_openclip = 24;
  const std::int64_t layers = weights.blocks(layers_of_text);
  if (kind != Kind::v2 || layers == of_openclip - 1) return layers;
  const std::string_view beside[] = {"logit_scale", "text_projection", text::renamed_projection};
  const bool whole = layers == of_openclip || std::ranges::any_of(beside, [&](std::string_view name) {
                       return weights.has_stored(name);
                     });
  return layers - (whole ? 1 : 0);
}

}  // namespace

UNetConfig unet_config(const ComponentWeights& weights) {
  UNetConfig config = unet_sizes(weights);
  const bool by_number = weights.file()->kind == Kind::v1;
  constexpr std::int64_t heads_of_v1 = 8, narrowest_v1 = 320;
  const std::int64_t first = config.levels.front().channels;
  for (UNetLevel& level : config.levels) {
    if (level.channels % published_groups != 0 || level.channels % published_head != 0 ||
        (by_number && first != narrowest_v1))
      throw weights.error("has levels of " + std::to_string(level.channels) +
                          " channels, which no published " + in_words(*weights.file()) +
                          " has, so it is not known how many heads look at them: give --model the model's "
                          "folder, whose unet/config.json does");
    level.heads = by_number ? heads_of_v1 : level.channels / published_head;
  }
  config.norm_groups = published_groups;
  return config;
}

vae::AutoencoderConfig autoencoder_config(const ComponentWeights& weights, Kind kind) {
  vae::AutoencoderConfig config;
  config.latent_channels = required(weights, "decoder.conv_in.weight", 4)[1];
  config.use_quant_conv = has(weights, "quant_conv.weight");
  config.use_post_quant_conv = has(weights, "post_quant_conv.weight");
  config.mid_block_add_attention = has(weights, "decoder.mid_block.attentions.0.to_q.weight");
  config.layers_per_block = weights.blocks("encoder.down_blocks.0.resnets.");
  config.norm_num_groups = published_groups;
  config.block_out_channels.clear();
  for (std::int64_t i = 0; i < weights.blocks("encoder.down_blocks."); ++i)
    config.block_out_channels.push_back(
        required(weights, "encoder.down_blocks." + std::to_string(i) + ".resnets.0.conv2.weight", 4)[0]);
  const bool divided = std::ranges::all_of(config.block_out_channels, [](std::int64_t channels) {
    return channels > 0 && channels % published_groups == 0;
  });
  if (config.block_out_channels.empty() || !divided)
    throw weights.error(
        "has a VAE whose channels 32 groups do not divide, so it is not known how they are normed: give "
        "--model the model's folder, whose vae/config.json does");
  config.force_upcast = kind == Kind::xl || kind == Kind::xl_refiner;
  config.scaling_factor = config.force_upcast ? 0.13025 : 0.18215;
  config.shift_factor = 0;
  return config;
}

text::ClipConfig clip_config(const ComponentWeights& weights, Kind kind) {
  text::ClipConfig config;
  const Shape tokens = required(weights, "text_model.embeddings.token_embedding.weight", 2);
  config.vocab_size = tokens[0];
  config.hidden_size = tokens[1];
  config.max_position_embeddings = required(weights, "text_model.embeddings.position_embedding.weight", 2)[0];
  config.num_hidden_layers = text_layers(weights, kind);
  config.intermediate_size = required(weights, std::string(layers_of_text) + "0.mlp.fc1.weight", 2)[0];
  constexpr std::int64_t published_tokens = 49408;
  if (config.hidden_size % published_head != 0 || config.vocab_size != published_tokens)
    throw weights.error("has a text encoder of width " + std::to_string(config.hidden_size) + " and " +
                        std::to_string(config.vocab_size) +
                        " tokens, which is not a published CLIP, so it is not known how many heads it has: "
                        "give --model the model's folder, whose text_encoder/config.json does");
  config.num_attention_heads = config.hidden_size / published_head;
  config.eos_token_id = 2;  // the first end token, which has the largest id
  config.projects = weights.component() == "text_encoder_2";
  const bool openclip = config.projects || kind == Kind::v2;
  config.hidden_act = openclip ? ActivationFunction::gelu_erf : ActivationFunction::quick_gelu;
  if (config.projects) config.projection_dim = required(weights, "text_projection.weight", 2)[0];
  return config;
}

nlohmann::json scheduler_config(const WeightFile& file) {
  nlohmann::json config{{"_class_name", "PNDMScheduler"},
                        {"beta_start", 0.00085},
                        {"beta_end", 0.012},
                        {"beta_schedule", "scaled_linear"},
                        {"num_train_timesteps", 1000},
                        {"steps_offset", 1},
                        {"clip_sample", false},
                        {"set_alpha_to_one", false},
                        {"skip_prk_steps", true}};
  const bool is_v2_of_768 =
      file.kind == Kind::v2 && file.in_channels == 4 && file.seems_to_predict_v.value_or(true);
  if (file.kind == Kind::xl || file.kind == Kind::xl_refiner) {
    config["_class_name"] = "EulerDiscreteScheduler";
    config["timestep_spacing"] = "leading";
  } else if (is_v2_of_768 || file.has_no_signal_at_last) {
    config["_class_name"] = "DDIMScheduler";
  }
  if (file.predicts_v || is_v2_of_768) config["prediction_type"] = "v_prediction";
  if (file.has_no_signal_at_last) config["rescale_betas_zero_snr"] = true;
  return config;
}

std::int64_t sample_size(Kind kind, sampling::PredictionType prediction) {
  switch (kind) {
    case Kind::v1:
      return 64;
    case Kind::v2:
      return prediction == sampling::PredictionType::v_prediction ? 96 : 64;
    case Kind::xl:
    case Kind::xl_refiner:
      break;
  }
  return 128;
}

void check_agreement(const ComponentWeights& weights, const UNetConfig& config,
                     const std::filesystem::path& config_file) {
  const UNetConfig found = unet_sizes(weights);
  const auto agreement = agreement_of(weights, config_file);
  agreement.same("a number of channels in of", found.in_channels, config.in_channels)
      .same("a width of text of", found.context_width, config.context_width)
      .same("a number of levels of", std::ssize(found.levels), std::ssize(config.levels))
      .same("pooled text beside the time (1: yes, as XL has it)", found.text_time, config.text_time)
      .same("channels of an embedded guidance of", found.guidance_channels, config.guidance_channels);
  for (std::size_t i = 0; i < found.levels.size(); ++i) {
    const std::string level = "level " + std::to_string(i) + " with ";
    agreement.same(level + "a number of channels of", found.levels[i].channels, config.levels[i].channels)
        .same(level + "a number of residual blocks of", found.levels[i].layers, config.levels[i].layers)
        .same(level + "attention (1: yes)", found.levels[i].attention_down, config.levels[i].attention_down);
    const auto depths = [&](bool attends, const char* side, const std::vector<std::int64_t>& own,
                            const std::vector<std::int64_t>& wanted) {
      for (std::size_t layer = 0; attends && layer < std::min(own.size(), wanted.size()); ++layer)
        agreement.same(level + side + std::to_string(layer) + " a number of transformer blocks of",
                       own[layer], wanted[layer]);
    };
    const UNetLevel &one = found.levels[i], &other = config.levels[i];
    depths(one.attention_down, "in layer down ", one.depths_down, other.depths_down);
    depths(one.attention_up && other.attention_up, "in layer up ", one.depths_up, other.depths_up);
  }
}
void check_agreement(const ComponentWeights& weights, const vae::AutoencoderConfig& config,
                     const std::filesystem::path& config_file) {
  agreement_of(weights, config_file)
      .same("a number of levels of", weights.blocks("decoder.up_blocks."),
            std::ssize(config.block_out_channels))
      .same("a number of latent channels of", required(weights, "decoder.conv_in.weight", 4)[1],
            config.latent_channels);
}
void check_agreement(const ComponentWeights& weights, const text::ClipConfig& config,
                     const std::filesystem::path& config_file) {
  const std::int64_t layers = weights.blocks(layers_of_text);
  const bool one_more = weights.may_have_one_more() && layers == config.num_hidden_layers + 1;
  agreement_of(weights, config_file)
      .same("a number of layers of", layers - one_more, config.num_hidden_layers);
}

}  // namespace precast::stable_diffusion
