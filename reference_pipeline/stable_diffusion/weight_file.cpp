// Recognises single files of Stable Diffusion by their tensors.
#include <algorithm>
#include <array>
#include <cmath>

#include <stable_diffusion/weight_file.hpp>
#include <weights/weight_tensors.hpp>

namespace precast::stable_diffusion {

using weights::Part;

namespace {

/// The width of 2.x's text encoder, and of its prompts.
constexpr std::int64_t width_of_openclip_h = 1024;

/// The width of the prompt's tokens from the first attention to them, or 0: the columns of the logical
/// matrix, of which a byte may pack several.
std::int64_t context_width(const io::ComponentSource& file) {
  const std::string_view attention = ".attn2.", name = "to_k.weight";
  for (const io::TensorEntry* entry : file.tensors()) {
    if (!entry->name.ends_with(std::string(attention).append(name))) continue;
    const weights::WeightTensors layer(file, entry->name.substr(0, entry->name.size() - name.size()));
    const weights::WeightTensor* weight = layer.lookup(name);
    if (weight && weight->shape.rank() >= 2) return weight->shape[1];
  }
  return 0;
}

Kind kind_of(const io::ComponentSource& file, const WeightFile& found) {
  const FoundComponent* second = found.find("text_encoder_2");
  const FoundComponent* first = found.find("text_encoder");
  const std::string& prefix = found.find("unet")->prefix;
  constexpr std::int64_t refiner_context = 1280;
  if (second) return first ? Kind::xl : Kind::xl_refiner;
  // stable-diffusion.cpp changes names of text encoders and ranks of projections, but not widths.
  const std::int64_t context = context_width(file);
  if (context == width_of_openclip_h) return Kind::v2;
  if (file.has_names_beginning(prefix + "label_emb."))
    return context == refiner_context ? Kind::xl_refiner : Kind::xl;
  if (first) return first->naming == Naming::openclip ? Kind::v2 : Kind::v1;
  // 2.x has matrices before and after its transformers, 1.x 1x1 convolutions.
  for (const io::TensorEntry* entry : file.tensors())
    if (entry->name.ends_with(".1.proj_in.weight")) return entry->shape.rank() == 2 ? Kind::v2 : Kind::v1;
  return Kind::v1;
}

/// The text encoders in a file. `is_second(prefix)` decides about one in a place that both may have.
template <class IsSecond>
std::vector<FoundComponent> text_encoders(const io::ComponentSource& file, IsSecond&& is_second) {
  std::vector<FoundComponent> found;
  for (const std::string_view component : {"text_encoder", "text_encoder_2"})
    if (const auto encoder = lone_component(file, component)) found.push_back(*encoder);
  if (found.size() == 2 && found[0].prefix == found[1].prefix)
    found.erase(is_second(found[0].prefix) ? found.begin() : found.end() - 1);
  return found;
}

/// ComfyUI's test for 2.x (comfy/supported_models.py, SD20, 2025): the biases of the last norm before
/// attention have a larger spread if the UNet predicts v.
std::optional<bool> spread_of_v(const io::ComponentSource& file, const std::string& unet) {
  const io::TensorEntry* bias = file.lookup(unet + std::string(bias_of_prediction));
  if (!bias || bias->shape.rank() != 1 || bias->shape.elements() == 0 || !weights::holds_numbers(*bias))
    return std::nullopt;
  constexpr double least_of_v = 0.09;
  const std::vector<f32> values = weights::values_of(*bias);
  const auto count = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const f32 value : values) sum += value;
  for (const f32 value : values) squares += (value - sum / count) * (value - sum / count);
  return std::sqrt(squares / count) > least_of_v;
}

}  // namespace

std::string in_words(const WeightFile& file) {
  constexpr std::array<std::string_view, 4> words{"Stable Diffusion 1.x", "Stable Diffusion 2.x",
                                                  "Stable Diffusion XL", "Stable Diffusion XL refiner"};
  constexpr std::int64_t with_mask = 9;
  return std::string(words[static_cast<std::size_t>(file.kind)]) +
         (file.in_channels == with_mask ? ", inpainting" : "");
}

std::string refusal(const WeightFile& file) {
  const std::string kind = in_words(file);
  if (file.is_video) return "a Stable Video Diffusion model, which makes a video of a picture";
  if (file.is_unclip) return "unCLIP of " + kind + ", which draws from a picture";
  if (file.has_levels_of_edm) return "a relative of " + kind + " that was trained with EDM's levels of noise";
  switch (file.in_channels) {
    case 4:
    case 9:
      return {};
    case 5:
      return "a relative of " + kind + " that follows a map of depths";
    case 7:
      return "an upscaler of " + kind + ", which enlarges a picture";
    case 8:
      return "InstructPix2Pix of " + kind + ", which edits a picture as instructed";
    default:
      return "a relative of " + kind + " that takes " + std::to_string(file.in_channels) + " channels in";
  }
}

std::optional<WeightFile> weight_file(const io::ComponentSource& file) {
  WeightFile found{};
  for (const FoundComponent& unet : weights::places_of(file, Part::unet)) {
    const io::TensorEntry* first = file.lookup(unet.prefix + "input_blocks.0.0.weight");
    if (!first || first->shape.rank() < 2 || !file.lookup(unet.prefix + "time_embed.0.weight")) continue;
    found.in_channels = first->shape[1];
    found.components.push_back(unet);
    break;
  }
  if (found.components.empty()) return std::nullopt;
  const std::string unet = found.components.front().prefix;
  const auto takes_pooled_text = [&](const std::string&) {
    return file.has_names_beginning(unet + "label_emb.") && context_width(file) != width_of_openclip_h;
  };
  for (const FoundComponent& encoder : text_encoders(file, takes_pooled_text))
    found.components.push_back(encoder);
  if (auto vae = lone_component(file, "vae")) found.components.push_back(std::move(*vae));
  found.kind = kind_of(file, found);
  // Tensors that trainers store with models whose noise schedule is not the published one.
  const auto holds = [&](std::string_view name) { return file.lookup(name) != nullptr; };
  found.predicts_v = holds("v_pred");
  found.has_no_signal_at_last = holds("ztsnr");
  found.has_levels_of_edm = holds("edm_mean") || holds("edm_vpred.sigma_max");
  found.is_video = std::ranges::any_of(file.tensors(), [&](const io::TensorEntry* entry) {
    return entry->name.starts_with(unet) && entry->name.find(".time_stack.") != std::string::npos;
  });
  found.is_unclip = found.kind == Kind::v2 && file.has_names_beginning(unet + "label_emb.0.");
  if (found.kind == Kind::v2 && found.in_channels == 4) found.seems_to_predict_v = spread_of_v(file, unet);
  return found;
}

std::optional<FoundComponent> lone_component(const io::ComponentSource& file, std::string_view component) {
  for (const Part part : {Part::clip, Part::second_clip, Part::autoencoder})
    if (folder_of(part) == component)
      if (const auto places = weights::places_of(file, part); !places.empty()) return places.front();
  return std::nullopt;
}

std::vector<FoundComponent> lone_text_encoders(const io::ComponentSource& file) {
  return text_encoders(file, [&](const std::string& prefix) {
    const io::TensorEntry* norm = file.lookup(prefix + "ln_final.weight");
    return norm && norm->shape.elements() > width_of_openclip_h;
  });
}

std::vector<std::string> other_matrices(const io::ComponentSource& file, const WeightFile& found) {
  std::vector<std::string> names;
  for (const io::TensorEntry* entry : file.tensors()) {
    const std::string_view name = entry->name;
    const auto holds = [&](const FoundComponent& part) { return name.starts_with(part.prefix); };
    if (entry->shape.rank() > 1 && !name.starts_with("model_ema.") &&
        std::ranges::none_of(found.components, holds))
      names.push_back(entry->name);
  }
  return names;
}

}  // namespace precast::stable_diffusion
