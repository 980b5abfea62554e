// Finds a component of a Stable Diffusion model in any layout, and maps names to its parameters.
#include <array>
#include <span>
#include <utility>
#include <vector>

#include <stable_diffusion/component_weights.hpp>
#include <stable_diffusion/ldm_names.hpp>
#include <text/clip_names.hpp>
#include <text/openclip_names.hpp>
#include <vae/original_names.hpp>

#include <precast/io/message.hpp>

namespace precast::stable_diffusion {

namespace {

/// The names of the VAE's attention in folders that diffusers wrote before release 0.18.
constexpr std::array older_attention = {
    io::NameLine{".query.*", ".to_q.*"},
    io::NameLine{".key.*", ".to_k.*"},
    io::NameLine{".value.*", ".to_v.*"},
    io::NameLine{".proj_attn.*", ".to_out.0.*"},
};
constexpr std::string_view attention_of_vae = ".mid_block.attentions.0";

/// The current name of a parameter in a VAE's folder.
std::string newer_vae_name(const std::string& name) {
  const std::size_t at = name.find(attention_of_vae);
  if (at == std::string::npos) return name;
  const std::size_t end = at + attention_of_vae.size();
  for (const io::NameLine& line : older_attention)
    if (const auto newer = io::translated(std::string_view(name).substr(end), line.theirs, line.ours))
      return name.substr(0, end) + *newer;
  return name;
}

/// Throws InputError if a file is recognised as something other than this component.
void refuse_others(const std::filesystem::path& path, const io::ComponentSource& file,
                   std::string_view component) {
  const bool unet = component == "unet", vae = component == "vae";
  const std::string wanted = unet ? "UNet" : vae ? "VAE" : "text encoder";
  const auto other = weights::other_model(file, weights::parts_of(file));
  if (other && !(unet && other->kind == weights::OtherModel::Kind::lone_unet))
    throw io::file_error(path, "is " + other->in_words + ", which is not read: give a " + wanted +
                                   " of Stable Diffusion 1.x, 2.x or XL");
  const auto begins = [&](std::string_view name) { return file.has_names_beginning(name); };
  if (!(unet  ? begins("conv_in.weight")
        : vae ? begins("decoder.")
              : begins(text::text_model) || begins("encoder.layers.")))
    throw io::file_error(path, "does not hold a Stable Diffusion " + wanted + ": give another file");
}

FoundComponent component_found(const std::filesystem::path& path, const io::ComponentSource& file,
                               std::string_view component) {
  const std::optional<WeightFile> whole = weight_file(file);
  if (!whole) {
    if (const auto lone = lone_component(file, component)) return *lone;
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) refuse_others(path, file, component);
    return {std::string(component), Naming::ours, ""};
  }
  if (const std::string why = refusal(*whole); !why.empty())
    throw io::file_error(
        path, "is " + why + ", which is not read: give a Stable Diffusion model that draws from a prompt");
  if (const FoundComponent* found = whole->find(component)) return *found;
  std::string holds;
  for (const FoundComponent& other : whole->components)
    holds += (holds.empty() ? "" : ", ") + other.component;
  throw io::file_error(path, "is " + in_words(*whole) + " without its " + std::string(component) +
                                 " (it holds " + holds +
                                 "): give --model a folder that has it, or another file");
}

}  // namespace

ComponentWeights::ComponentWeights(const std::filesystem::path& path, std::string_view component,
                                   io::TakenCallback on_taken)
    : PlacedSource(path, std::move(on_taken), [&](const io::ComponentSource& opened) {
        return component_found(path, opened, component);
      }) {
  if (naming() == Naming::ours) {
    const bool lacks_text_model =
        component.starts_with("text_encoder") && !tensors().has_names_beginning(text::text_model);
    for (const auto& [name, weight] : tensors().all()) {
      const bool turned = name == text::renamed_projection;
      std::string ours = turned               ? std::string(text::projection)
                         : component == "vae" ? newer_vae_name(name)
                                              : name;
      if (lacks_text_model && name != text::projection) ours.insert(0, text::text_model);
      place(name, {{.name = std::move(ours), .transposed = turned}});
    }
  } else if (component == "unet") {
    std::vector<std::string_view> all;
    for (const auto& [name, weight] : tensors().all()) all.push_back(name);
    layers_ = ldm_unet_layers(all);
    for (const auto& [name, weight] : tensors().all()) {
      auto ours = diffusers_unet_name(name, layers_);
      place(name, ours ? std::vector{io::NamedRows{std::move(*ours)}} : std::vector<io::NamedRows>{});
    }
  } else if (component == "vae") {
    place_all(vae::original_names);
  } else {
    place_all(text::openclip_names);
  }
}

bool ComponentWeights::may_have_one_more() const {
  if (component() != "text_encoder") return false;
  if (naming() == Naming::openclip) return true;
  const std::optional<WeightFile> whole = file();
  return whole && whole->kind == Kind::v2;
}

std::string ComponentWeights::absent_name(std::string_view name) const {
  if (naming() != Naming::original || component() != "unet") return PlacedSource::absent_name(name);
  const auto theirs = ldm_unet_name(name, layers_, [&](std::int64_t level) {
    return blocks("up_blocks." + std::to_string(level) + ".attentions.") > 0;
  });
  return theirs.value_or(std::string(name));
}

}  // namespace precast::stable_diffusion
