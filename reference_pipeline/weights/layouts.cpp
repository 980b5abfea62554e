// Identifies files of weights by the names and shapes of their tensors.
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include <weights/layouts.hpp>

namespace precast::weights {

namespace {

/// A start of names, behind a prefix, that only one part of a model has. Both CLIPs have the same names.
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
    {Part::unet, Naming::original, "input_blocks.0.0.weight"},
    {Part::clip, Naming::ours, "text_model.final_layer_norm.weight"},
    {Part::clip, Naming::ours, "final_layer_norm.weight"},
    {Part::clip, Naming::openclip, "ln_final.weight"},
    {Part::second_clip, Naming::ours, "text_model.final_layer_norm.weight"},
    {Part::second_clip, Naming::ours, "final_layer_norm.weight"},
    {Part::second_clip, Naming::openclip, "ln_final.weight"},
    {Part::t5, Naming::ours, "encoder.block."},
    {Part::t5, Naming::gguf, "enc.blk."},
    {Part::autoencoder, Naming::original, "decoder.up."},
    {Part::autoencoder, Naming::original, "decoder.mid."},
    {Part::autoencoder, Naming::ours, "decoder.up_blocks."},
    {Part::autoencoder, Naming::ours, "decoder.mid_block."},
};

/// The prefixes of a part in files. Stability's later programs have OpenCLIP alone, whichever it is, in
/// "conditioner.embedders.0.model."; stable-diffusion.cpp calls XL's second
/// "cond_stage_model.1.transformer.".
std::span<const std::string_view> prefixes_of(Part part) {
  static constexpr std::string_view denoiser[] = {
      "", "model.diffusion_model.", "model.model.", "net.", "model.", "transformer.", "diffusion_model."};
  static constexpr std::string_view clip[] = {"",
                                              "cond_stage_model.transformer.",
                                              "cond_stage_model.model.",
                                              "conditioner.embedders.0.transformer.",
                                              "conditioner.embedders.0.model.",
                                              "text_encoders.clip_l.transformer.",
                                              "text_encoders.clip_l.",
                                              "clip_l.transformer.",
                                              "clip_l.",
                                              "text_encoder."};
  static constexpr std::string_view second_clip[] = {"",
                                                     "conditioner.embedders.1.model.",
                                                     "conditioner.embedders.0.model.",
                                                     "cond_stage_model.1.transformer.",
                                                     "text_encoders.clip_g.transformer.",
                                                     "text_encoders.clip_g.",
                                                     "clip_g.transformer.",
                                                     "clip_g.",
                                                     "text_encoder_2."};
  static constexpr std::string_view t5[] = {"",
                                            "text_encoders.t5xxl.transformer.",
                                            "text_encoders.t5xxl.",
                                            "t5xxl.transformer.",
                                            "t5xxl.",
                                            "text_encoder_2."};
  static constexpr std::string_view autoencoder[] = {"", "first_stage_model.", "vae."};
  switch (part) {
    case Part::clip:
      return clip;
    case Part::second_clip:
      return second_clip;
    case Part::t5:
      return t5;
    case Part::autoencoder:
      return autoencoder;
    default:
      return denoiser;
  }
}

/// Models other than Flux, by the start of a name behind any prefix of a transformer. The first match wins.
struct OtherModelPrefix {
  std::string_view start, what;
  OtherModel::Kind kind = OtherModel::Kind::unread;
};
constexpr OtherModelPrefix other_model_prefixes[] = {
    {"single_stream_modulation.", "a FLUX.2 model"},
    {"double_stream_modulation_img.", "a FLUX.2 model"},
    {"distilled_guidance_layer.", "a Chroma model"},
    {"txt_in.individual_token_refiner.", "a HunyuanVideo or HunyuanImage model"},
    {"context_embedder.token_refiner.", "a HunyuanVideo or HunyuanImage model"},  // in diffusers' names
    {"double_layers.", "an AuraFlow model"},
    {"joint_transformer_blocks.", "an AuraFlow model"},  // in diffusers' names
    {"double_stream_blocks.", "a HiDream model"},
    {"patchify_proj.", "an LTX video model"},
    {"text_fusion.", "a Krea 2 model"},
    {"txt_in.text_norm.", "a Qwen-Image 2.1 model"},
    {"x_embedders.", "a FLUX.3 model"},
    {"context_embedder_norm.", "an Ovis-Image model"},
    {"glyph_projector.", "a GLM-Image model"},
    {"time_condition_embed.", "a CogView model"},
    {"patch_embed.text_proj.", "a CogVideoX model"},
    {"pos_frequencies", "a Mochi video model"},
    {"global_proj.", "a Stable Audio model"},
    {"to_global_embed.", "a Stable Audio model"},
    {"caption_projection.0.", "a Bria FIBO model"},
    {"time_embed.timestep_embedder.", "a LongCat-Image or Bria model"},
    {"time_text_embed.norm.", "a Nucleus-Image model"},
    {"proj_out_1.", "a DiT model"},
    {"caption_norm.", "a Sana model"},
    {"time_embed.emb.timestep_embedder.", "an LTX video model"},  // in diffusers' names; Sana's, too
    {"t_block.", "a PixArt model"},
    {"adaln_single.", "a PixArt or Allegro model"},  // in diffusers' names
    {"blocks.block0.", "a Cosmos model"},
    {"blocks.0.adaln_modulation_self_attn.", "a Cosmos model"},
    {"time_embed.t_embedder.", "a Cosmos model"},  // in diffusers' names
    {"joint_blocks.", "a Stable Diffusion 3 model"},
    {"input_blocks.", "a Stable Diffusion 1, 2 or XL model"},
    {"down_blocks.0.attentions.", "a Stable Diffusion UNet in diffusers' names", OtherModel::Kind::lone_unet},
    {"down_blocks.0.resnets.", "a Stable Diffusion UNet in diffusers' names", OtherModel::Kind::lone_unet},
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

/// How the names of a transformer begin, behind a prefix, that takes pooled text as Flux.1 does: BFL's and
/// diffusers'.
constexpr std::string_view pooled_text[] = {"vector_in.", "time_text_embed.text_embedder."};
/// Where pictures, texts and times enter transformers, under the names of many models. Files of some blocks
/// alone have none of them, and may be Flux.1's.
constexpr std::string_view entries[] = {"img_in.",     "txt_in.",           "time_in.",
                                        "x_embedder.", "context_embedder.", "time_text_embed.",
                                        "time_embed.", "time_embedding.",   "timestep_embedder.",
                                        "patch_embed", "pos_embed",         "proj_in."};

bool has_any(const io::ComponentSource& file, std::string_view prefix,
             std::span<const std::string_view> starts) {
  return std::ranges::any_of(starts, [&](std::string_view start) {
    return file.has_names_beginning(std::string(prefix).append(start));
  });
}

/// Whether a transformer with this prefix has entry layers, but none for pooled text.
bool lacks_pooled_text(const io::ComponentSource& file, std::string_view prefix) {
  const bool has_blocks =
      std::ranges::any_of(places_of(file, Part::transformer),
                          [&](const FoundComponent& place) { return place.prefix == prefix; });
  return has_blocks && has_any(file, prefix, entries) && !has_any(file, prefix, pooled_text);
}

/// The other model that a file's names show, by one that no Flux transformer has; nullptr if none does.
const OtherModelPrefix* find_other_model(const io::ComponentSource& file) {
  for (const OtherModelPrefix& other : other_model_prefixes)
    for (const std::string_view prefix : prefixes_of(Part::transformer))
      if (file.has_names_beginning(std::string(prefix).append(other.start))) return &other;
  return nullptr;
}

/// What a transformer takes in beside its own output, which plain Flux does not: by how many times as wide.
std::string kind_by_channels(const io::ComponentSource& file, const FoundComponent& part) {
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

/// What a header says of a model whose tensors are plain Flux's. Stability's specification of metadata
/// names the architecture: "Flux.1-kontext-dev".
std::string kind_by_header(const io::ComponentSource& file) {
  const io::SafetensorsFile* const first = file.files().front().safetensors();
  if (!first || !first->metadata().contains("modelspec.architecture")) return {};
  std::string architecture = first->metadata().at("modelspec.architecture");
  for (char& c : architecture)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (architecture.find("kontext") == std::string::npos) return {};
  return "a Flux Kontext model, which edits a picture that it is given";
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
  // XL's second CLIP keeps its prefix: its names are the first one's.
  for (const Part part : flux_parts)
    if (const auto plain = without_prefix(name, part); plain.size() < shortest.size()) shortest = plain;
  return shortest;
}

bool are_prefixes_of_one_part(std::string_view prefix, std::string_view other) {
  return std::ranges::any_of(flux_parts, [&](Part part) {
    const auto known = prefixes_of(part);
    return std::ranges::find(known, prefix) != known.end() && std::ranges::find(known, other) != known.end();
  });
}

std::string_view in_words(Part part) {
  constexpr std::string_view words[] = {
      "the transformer", "the first text encoder (CLIP)", "the second text encoder (T5)", "the VAE",
      "the UNet",        "the second text encoder (CLIP)"};
  return words[static_cast<std::size_t>(part)];
}
std::string_view folder_of(Part part) {
  constexpr std::string_view folders[] = {"transformer", "text_encoder", "text_encoder_2",
                                          "vae",         "unet",         "text_encoder_2"};
  return folders[static_cast<std::size_t>(part)];
}
Part part_in(std::string_view folder) {
  return *std::ranges::find(flux_parts, folder, [](Part part) { return folder_of(part); });
}
std::string_view in_words(Naming naming) {
  constexpr std::array<std::string_view, 4> words{"diffusers", "original", "OpenCLIP", "GGUF"};
  return words[static_cast<std::size_t>(naming)];
}

bool is_importance(const io::TensorFile& file) {
  const io::GgufValue* const type = file.gguf() ? file.gguf()->value(type_key) : nullptr;
  return type && type->type() == io::GgufValueType::string && type->text() == importance_type;
}

std::vector<FoundComponent> places_of(const io::ComponentSource& file, Part part) {
  std::vector<FoundComponent> places;
  for (const Signature& signature : signatures)
    for (const std::string_view prefix : prefixes_of(part)) {
      if (signature.part != part || !file.has_names_beginning(std::string(prefix).append(signature.start)))
        continue;
      FoundComponent place{std::string(folder_of(part)), signature.naming, std::string(prefix)};
      if (std::ranges::find(places, place) == places.end()) places.push_back(std::move(place));
    }
  return places;
}

std::vector<FoundComponent> parts_of(const io::ComponentSource& file) {
  for (const io::TensorFile& one : file.files())
    if (is_importance(one))
      throw io::file_error(one.path(),
                           "holds the importance of a model's matrices and no weights: it is for convert "
                           "--importance, give the model");
  std::vector<FoundComponent> parts;
  for (const Part part : {Part::transformer, Part::clip, Part::t5, Part::autoencoder}) {
    std::vector<FoundComponent> places = places_of(file, part);
    std::erase_if(places, [](const FoundComponent& place) { return place.naming == Naming::openclip; });
    if (places.empty()) continue;
    if (places.size() > 1) {
      const auto shown = [](const std::string& text) {
        return text.empty() ? std::string("no prefix") : "prefix '" + text + "'";
      };
      throw io::file_error(file.description(),
                           "holds " + std::string(in_words(part)) + " twice, with " +
                               shown(places[0].prefix) + " and " + shown(places[1].prefix) +
                               (places[0].naming == places[1].naming ? "" : " and under other names") +
                               ": get a file that holds it once");
    }
    parts.push_back(std::move(places.front()));
  }
  return parts;
}

const FoundComponent* find_component(const std::vector<FoundComponent>& parts, std::string_view component) {
  const auto found = std::ranges::find(parts, component, &FoundComponent::component);
  return found == parts.end() ? nullptr : &*found;
}

bool differs_from_flux(const io::ComponentSource& file) {
  return find_other_model(file) ||
         std::ranges::any_of(prefixes_of(Part::transformer),
                             [&](std::string_view prefix) { return lacks_pooled_text(file, prefix); });
}

std::optional<OtherModel> other_model(const io::ComponentSource& file,
                                      const std::vector<FoundComponent>& parts) {
  using Kind = OtherModel::Kind;
  const FoundComponent* const transformer = find_component(parts, "transformer");
  if (!transformer && !parts.empty() && !file.has_names_beginning("model.diffusion_model."))
    return std::nullopt;
  if (const OtherModelPrefix* const other = find_other_model(file))
    return OtherModel{other->kind, std::string(other->what)};
  for (const io::TensorEntry* entry : file.tensors())
    if (entry->name.find(".lora_") != std::string::npos || entry->name.find("_lora") != std::string::npos)
      return OtherModel{Kind::unread, "a LoRA"};
  if (!transformer) return std::nullopt;
  if (lacks_pooled_text(file, transformer->prefix))
    return OtherModel{Kind::unread, "another model with transformer blocks"};
  if (!has_any(file, transformer->prefix, pooled_text))
    return OtherModel{Kind::unread, "a part of a model with transformer blocks"};
  std::string kind = kind_by_channels(file, *transformer);
  if (kind.empty()) kind = kind_by_header(file);
  return kind.empty() ? std::nullopt : std::optional(OtherModel{Kind::unread, std::move(kind)});
}

}  // namespace precast::weights
