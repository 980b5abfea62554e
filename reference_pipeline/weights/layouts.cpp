// Knows files of weights by the names and shapes of their tensors.
#include <algorithm>
#include <array>
#include <span>

#include <weights/layouts.hpp>

namespace precast::weights {

namespace {

/// How names begin, behind a prefix, in which only one part of a model has them.
struct Signature {
  Part part;
  Naming naming;
  std::string_view start;
};
constexpr Signature signatures[] = {
    {Part::transformer, Naming::original, "double_blocks."},
    {Part::transformer, Naming::original, "single_blocks."},
    {Part::transformer, Naming::ours, "transformer_blocks."},
    {Part::transformer, Naming::ours, "single_transformer_blocks."},
    {Part::clip, Naming::ours, "text_model."},
    {Part::clip, Naming::ours, "encoder.layers.0.layer_norm1."},
    {Part::t5, Naming::ours, "encoder.block."},
    {Part::t5, Naming::gguf, "enc.blk."},
    {Part::autoencoder, Naming::original, "decoder.up."},
    {Part::autoencoder, Naming::original, "decoder.mid."},
    {Part::autoencoder, Naming::ours, "decoder.up_blocks."},
    {Part::autoencoder, Naming::ours, "decoder.mid_block."},
};

std::span<const std::string_view> prefixes_of(Part part) {
  static constexpr std::array<std::string_view, 7> transformer{
      "", "model.diffusion_model.", "model.model.", "net.", "model.", "transformer.", "diffusion_model."};
  static constexpr std::array<std::string_view, 6> clip{"",
                                                        "text_encoders.clip_l.transformer.",
                                                        "text_encoders.clip_l.",
                                                        "clip_l.transformer.",
                                                        "clip_l.",
                                                        "text_encoder."};
  static constexpr std::array<std::string_view, 6> t5{"",
                                                      "text_encoders.t5xxl.transformer.",
                                                      "text_encoders.t5xxl.",
                                                      "t5xxl.transformer.",
                                                      "t5xxl.",
                                                      "text_encoder_2."};
  static constexpr std::array<std::string_view, 3> autoencoder{"", "vae.", "first_stage_model."};
  switch (part) {
    case Part::transformer:
      return transformer;
    case Part::clip:
      return clip;
    case Part::t5:
      return t5;
    default:
      return autoencoder;
  }
}

/// Models that are not Flux's, by how a name begins behind any prefix of a transformer. The first that fits.
struct Stranger {
  std::string_view start, what;
};
constexpr Stranger strangers[] = {
    {"single_stream_modulation.", "a FLUX.2 model"},
    {"double_stream_modulation_img.", "a FLUX.2 model"},
    {"distilled_guidance_layer.", "a Chroma model"},
    {"txt_in.individual_token_refiner.", "a HunyuanVideo or HunyuanImage model"},
    {"context_embedder.token_refiner.", "a HunyuanVideo or HunyuanImage model"},  // in diffusers' names
    {"double_layers.", "an AuraFlow model"},
    {"joint_transformer_blocks.", "an AuraFlow model"},  // in diffusers' names
    {"double_stream_blocks.", "a HiDream model"},
    {"patchify_proj.", "an LTX video model"},
    {"caption_norm.", "a Sana model"},
    {"time_embed.emb.timestep_embedder.", "an LTX video model"},  // in diffusers' names; Sana's, too
    {"t_block.", "a PixArt model"},
    {"adaln_single.", "a PixArt or Allegro model"},  // in diffusers' names
    {"blocks.block0.", "a Cosmos model"},
    {"blocks.0.adaln_modulation_self_attn.", "a Cosmos model"},
    {"time_embed.t_embedder.", "a Cosmos model"},  // in diffusers' names
    {"joint_blocks.", "a Stable Diffusion 3 model"},
    {"input_blocks.", "a Stable Diffusion 1, 2 or XL model"},
    {"down_blocks.0.attentions.", lone_unet},
    {"down_blocks.0.resnets.", lone_unet},
    {"cap_embedder.", "a Lumina or Z-Image model"},
    {"noise_refiner.", "a Lumina or Z-Image model"},
    {"txt_norm.", "a Qwen-Image model"},
    {"patch_embedding.", "a Wan video model"},
    {"pos_embed.proj.", "a Stable Diffusion 3 model"},
    {"img_in.lora_A", "a Flux control LoRA"},
    {"lora_unet_", "a LoRA"},
    {"lora_transformer_", "a LoRA"},
    {"redux_up.", "Flux Redux's embedder"},
    {"controlnet_blocks.", "a ControlNet"},
    {"control_model.", "a ControlNet"},
    {"decoder.layers.2.conv.", "a tiny autoencoder (TAESD)"},
    {"taesd_decoder.", "a tiny autoencoder (TAESD)"},
    {"blk.", "a language model"},
    {"model.layers.", "a language model"},
    {"visual.", "a language model"},
};

/// What a transformer takes in beside its own output, which plain Flux does not: by how many times as wide.
std::string kind_by_channels(const io::ComponentSource& file, const FoundPart& part) {
  const bool ours = part.naming == Naming::ours;
  const auto* in = file.lookup(part.prefix + (ours ? "x_embedder.weight" : "img_in.weight"));
  const auto* out = file.lookup(part.prefix + (ours ? "proj_out.bias" : "final_layer.linear.bias"));
  if (!in || !out || in->shape.rank() != 2 || out->shape.rank() != 1 || in->dtype.info.name == "u8")
    return {};
  const std::int64_t rows = in->shape[0], columns = in->shape[1], made = out->shape[0];
  if (columns == made || rows == 0) return {};
  if (columns == 2 * made) return "a Flux Canny or Depth model, which follows a map of edges or depths";
  if (columns == 6 * made) return "a Flux Fill model, which fills the part of a picture that a mask names";
  if (columns == 196 && made == 64) return "a Flex.2 model";
  return "a relative of Flux that takes " + std::to_string(columns) + " channels in and gives " +
         std::to_string(made);
}

}  // namespace

std::string_view without_prefix(std::string_view name, Part part) {
  std::size_t longest = 0;
  for (const std::string_view prefix : prefixes_of(part))
    if (name.starts_with(prefix)) longest = std::max(longest, prefix.size());
  return name.substr(longest);
}

std::string_view without_prefix(std::string_view name) {
  std::string_view shortest = name;
  for (const Part part : all_parts)
    if (const auto plain = without_prefix(name, part); plain.size() < shortest.size()) shortest = plain;
  return shortest;
}

bool are_prefixes_of_one_part(std::string_view prefix, std::string_view other) {
  return std::ranges::any_of(all_parts, [&](Part part) {
    const auto known = prefixes_of(part);
    return std::ranges::find(known, prefix) != known.end() && std::ranges::find(known, other) != known.end();
  });
}

std::string_view in_words(Part part) {
  constexpr std::array<std::string_view, 4> words{"the transformer", "the first text encoder (CLIP)",
                                                  "the second text encoder (T5)", "the VAE"};
  return words[static_cast<std::size_t>(part)];
}
std::string_view folder_of(Part part) {
  constexpr std::array<std::string_view, 4> folders{"transformer", "text_encoder", "text_encoder_2", "vae"};
  return folders[static_cast<std::size_t>(part)];
}
Part part_in(std::string_view folder) {
  return *std::ranges::find(all_parts, folder, [](Part part) { return folder_of(part); });
}
std::string_view in_words(Naming naming) {
  constexpr std::array<std::string_view, 3> words{"diffusers", "original", "GGUF"};
  return words[static_cast<std::size_t>(naming)];
}

bool is_importance(const io::TensorFile& file) {
  const io::GgufValue* const type = file.gguf() ? file.gguf()->value(type_key) : nullptr;
  return type && type->type() == io::GgufValueType::string && type->text() == importance_type;
}

std::vector<FoundPart> parts_of(const io::ComponentSource& file) {
  for (const io::TensorFile& one : file.files())
    if (is_importance(one))
      throw io::file_error(one.path(),
                           "holds the importance of a model's matrices and no weights: it is for convert "
                           "--importance, give the model");
  std::vector<FoundPart> parts;
  for (const Signature& signature : signatures)
    for (const std::string_view prefix : prefixes_of(signature.part)) {
      if (!file.has_names_beginning(std::string(prefix).append(signature.start))) continue;
      const auto known = find_part(parts, signature.part);
      if (!known) {
        parts.push_back({signature.part, signature.naming, std::string(prefix)});
      } else if (known->prefix != prefix || known->naming != signature.naming) {
        const auto shown = [](const std::string& text) {
          return text.empty() ? std::string("no prefix") : "prefix '" + text + "'";
        };
        throw io::file_error(file.description(),
                             "holds " + std::string(in_words(signature.part)) + " twice, with " +
                                 shown(known->prefix) + " and " + shown(std::string(prefix)) +
                                 (known->naming == signature.naming ? "" : " and under other names") +
                                 ": get a file that holds it once");
      }
    }
  return parts;
}

std::optional<FoundPart> find_part(const std::vector<FoundPart>& parts, Part part) {
  const auto found = std::ranges::find(parts, part, &FoundPart::part);
  return found == parts.end() ? std::nullopt : std::optional(*found);
}

std::string stranger_in(const io::ComponentSource& file) {
  for (const Stranger& stranger : strangers)
    for (const std::string_view prefix : prefixes_of(Part::transformer))
      if (file.has_names_beginning(std::string(prefix).append(stranger.start)))
        return std::string(stranger.what);
  return {};
}

std::string other_model(const io::ComponentSource& file, const std::vector<FoundPart>& parts) {
  const auto transformer = find_part(parts, Part::transformer);
  if (!transformer && !parts.empty() && !file.has_names_beginning("model.diffusion_model.")) return {};
  if (const std::string stranger = stranger_in(file); !stranger.empty()) return stranger;
  for (const io::TensorEntry* entry : file.tensors())
    if (entry->name.find(".lora_") != std::string::npos || entry->name.find("_lora") != std::string::npos)
      return "a LoRA";
  return transformer ? kind_by_channels(file, *transformer) : std::string{};
}

}  // namespace precast::weights
