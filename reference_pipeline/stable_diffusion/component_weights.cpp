// Opens a component's weights in any layout, and finds where each of our parameters lies in it.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>

#include <stable_diffusion/component_weights.hpp>
#include <stable_diffusion/ldm_names.hpp>
#include <text/openclip_names.hpp>
#include <vae/original_names.hpp>
#include <weights/changed_copy.hpp>
#include <weights/component_facts.hpp>
#include <weights/layouts.hpp>
#include <weights/renamed_source.hpp>

namespace precast::stable_diffusion {

namespace {

/// The VAE's attention in folders that diffusers wrote before release 0.18.
constexpr std::array older_attention = {
    io::NameLine{".query.*", ".to_q.*"},
    io::NameLine{".key.*", ".to_k.*"},
    io::NameLine{".value.*", ".to_v.*"},
    io::NameLine{".proj_attn.*", ".to_out.0.*"},
};
constexpr std::string_view attention_of_vae = ".mid_block.attentions.0";

/// Today's name of a parameter in a folder of the VAE.
std::string newer_vae_name(const std::string& name) {
  const std::size_t at = name.find(attention_of_vae);
  if (at == std::string::npos) return name;
  const std::size_t end = at + attention_of_vae.size();
  for (const io::NameLine& line : older_attention)
    if (const auto newer = io::translated(std::string_view(name).substr(end), line.theirs, line.ours))
      return name.substr(0, end) + *newer;
  return name;
}

constexpr std::string_view text_model = "text_model.";

/// Whether a text encoder's names are without "text_model.", as those of merged files of 1.x and of what
/// transformers saves from version 5 on.
bool lacks_text_model(std::string_view component, const weights::WeightTensors& tensors) {
  return component.starts_with("text_encoder") && !tensors.has_names_beginning(text_model);
}

/// The number of a block, or -1.
std::int64_t number_after(std::string_view name, std::string_view stem) {
  constexpr std::int64_t most = 9999;  // so that no file makes us reserve room for more
  return weights::number_after(name, stem, most);
}

/// A copy of a matrix with rows and columns exchanged; of one in blocks, which are of rows, its values.
nn::Parameter transposed(const nn::ParameterSource& source, const std::string& name, nn::Parameter matrix) {
  if (matrix.dtype.values_per_block != 1) matrix = weights::decoded(std::move(matrix));
  const auto rows = static_cast<std::size_t>(matrix.shape.rank() == 2 ? matrix.shape[0] : 0);
  const auto columns = static_cast<std::size_t>(rows ? matrix.shape[1] : 0);
  const auto size = static_cast<std::size_t>(matrix.dtype.bytes_per_block);
  if (rows * columns * size != matrix.bytes.size())
    throw InputError(source.description() + ": tensor '" + io::printable(name) + "' is stored as " +
                     std::string(matrix.dtype.name) + " of shape " + to_string(matrix.shape) +
                     ", of which rows and columns cannot be exchanged: store it as a scalar dtype");
  matrix.shape = Shape{static_cast<std::int64_t>(columns), static_cast<std::int64_t>(rows)};
  return weights::with_own_bytes(matrix, matrix.bytes.size(), [&](std::span<std::byte> turned) {
    for (std::size_t r = 0; r < rows; ++r)
      for (std::size_t c = 0; c < columns; ++c)
        std::memcpy(turned.data() + (c * rows + r) * size, matrix.bytes.data() + (r * columns + c) * size,
                    size);
  });
}

}  // namespace

FileComponent ComponentWeights::component_in(std::string_view component) const {
  if (!whole_) {
    if (const auto lone = lone_component(source_, component)) return *lone;
    std::error_code ignored;
    if (!std::filesystem::is_directory(path_, ignored)) refuse_others(component);
    return {std::string(component), Naming::diffusers, ""};
  }
  if (const std::string why = refusal(*whole_); !why.empty())
    throw error("is " + why + ", which is not read: give a Stable Diffusion model that draws from a prompt");
  if (const FileComponent* found = whole_->find(component)) return *found;
  std::string holds;
  for (const FileComponent& other : whole_->components)
    holds += (holds.empty() ? "" : ", ") + other.component;
  throw error("is " + in_words(*whole_) + " without its " + std::string(component) + " (it holds " + holds +
              "): give --model a folder that has it, or another file");
}

void ComponentWeights::refuse_others(std::string_view component) const {
  const bool unet = component == "unet", vae = component == "vae";
  const std::string wanted = unet ? "UNet" : vae ? "VAE" : "text encoder";
  const auto other = weights::other_model(source_, weights::parts_of(source_));
  if (other && !(unet && other->kind == weights::OtherModel::Kind::lone_unet))
    throw error("is " + other->in_words + ", which is not read: give a " + wanted +
                " of Stable Diffusion 1.x, 2.x or XL");
  const auto begins = [&](std::string_view name) { return source_.has_names_beginning(name); };
  if (!(unet  ? begins("conv_in.weight")
        : vae ? begins("decoder.")
              : begins("text_model.") || begins("encoder.layers.")))
    throw error("does not hold a Stable Diffusion " + wanted + ": give another file");
}

ComponentWeights::ComponentWeights(const std::filesystem::path& path, std::string_view component,
                                   io::TakenCallback on_taken)
    : path_(path),
      source_(path, std::move(on_taken)),
      whole_(weight_file(source_)),
      found_(component_in(component)),
      tensors_(source_, found_.prefix) {
  add_places();
}

void ComponentWeights::add_places() {
  if (found_.naming == Naming::diffusers) {
    const bool vae = found_.component == "vae", names_end = lacks_text_model(found_.component, tensors_);
    for (const auto& [name, weight] : tensors_.all()) {
      const bool turned = name == text::renamed_projection;
      const std::string ours = turned                                  ? std::string(text::projection)
                               : vae                                   ? newer_vae_name(name)
                               : names_end && name != text::projection ? std::string(text_model) + name
                                                                       : name;
      places_.emplace(ours, Place{{name}, turned});
    }
    return;
  }
  if (found_.component == "unet") {
    std::vector<std::string_view> all;
    for (const auto& [name, weight] : tensors_.all()) all.push_back(name);
    layers_ = ldm_unet_layers(all);
  }
  for (const auto& [name, weight] : tensors_.all())
    vae_levels_ = std::max(
        {vae_levels_, number_after(name, "decoder.up.") + 1, number_after(name, "encoder.down.") + 1});
  for (const auto& [name, weight] : tensors_.all()) add_original(name);
}

void ComponentWeights::add_original(std::string_view stored) {
  const std::string name(stored);
  const auto add = [&](const std::vector<io::NamedRows>& ours, bool turned = false) {
    for (const io::NamedRows& one : ours)
      places_.emplace(one.name, Place{{name, one.first, one.count, one.of, one.halves_swapped}, turned});
    return !ours.empty();
  };
  bool known = false;
  if (found_.component == "unet") {
    if (auto ours = diffusers_unet_name(stored, layers_)) known = add({{std::move(*ours)}});
  } else if (found_.component == "vae") {
    known = add(io::our_rows(vae::original_names, stored, vae_levels_));
  } else {
    known = add(io::our_rows(text::openclip_names, stored), stored == text::openclip_transposed) ||
            stored == "logit_scale";
  }
  if (!known) unread_.push_back(found_.prefix + name);
}

bool ComponentWeights::may_have_one_more() const {
  return found_.component == "text_encoder" &&
         (found_.naming == Naming::openclip || (whole_ && whole_->kind == Kind::v2));
}

nn::Parameter ComponentWeights::find(std::string_view name) const {
  const auto found = places_.find(name);
  if (found == places_.end()) return tensors_.find(original_name(name));  // which says that it is missing
  nn::Parameter parameter = weights::parameter_at(tensors_, found->second.rows);
  if (!found->second.transposed) return parameter;
  return stable_diffusion::transposed(tensors_, found->second.rows.name, std::move(parameter));
}

std::vector<std::string> ComponentWeights::names() const {
  std::vector<std::string> all;
  for (const auto& [name, place] : places_) all.push_back(name);
  return all;
}

std::string ComponentWeights::original_name(std::string_view name) const {
  if (const auto found = places_.find(name); found != places_.end()) return found->second.rows.name;
  std::optional<std::string> theirs;
  if (found_.naming == Naming::ldm && found_.component == "unet") {
    theirs = ldm_unet_name(name, layers_, [&](std::int64_t level) {
      return blocks("up_blocks." + std::to_string(level) + ".attentions.") > 0;
    });
  } else if (found_.naming != Naming::diffusers) {
    const auto table = found_.naming == Naming::ldm ? std::span<const io::NameLine>(vae::original_names)
                                                    : std::span<const io::NameLine>(text::openclip_names);
    if (auto rows = io::their_rows(table, name, vae_levels_)) theirs = std::move(rows->name);
  }
  return theirs.value_or(std::string(name));
}

std::string ComponentWeights::stored_name(std::string_view name) const {
  return found_.prefix + original_name(name);
}

std::optional<Shape> ComponentWeights::shape(std::string_view name) const {
  const auto found = places_.find(name);
  if (found == places_.end()) return std::nullopt;
  const io::NamedRows& rows = found->second.rows;
  const Shape& stored = tensors_.lookup(rows.name)->shape;
  std::vector<std::int64_t> sizes(stored.sizes().begin(), stored.sizes().end());
  if (rows.of > 1 && !sizes.empty()) sizes[0] = sizes[0] / rows.of * rows.count;
  if (found->second.transposed) std::ranges::reverse(sizes);
  return Shape(std::span<const std::int64_t>(sizes));
}

std::int64_t ComponentWeights::blocks(std::string_view stem) const {
  std::int64_t most = -1;
  for (const auto& [name, place] : places_) most = std::max(most, number_after(name, stem));
  return most + 1;
}

InputError ComponentWeights::error(const std::string& problem) const {
  return io::file_error(path_, problem);
}

}  // namespace precast::stable_diffusion
