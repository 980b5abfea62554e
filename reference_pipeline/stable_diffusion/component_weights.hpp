// ComponentWeights: a component of a Stable Diffusion model from a folder or a single file, under
// diffusers' current parameter names, which our modules use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <stable_diffusion/weight_file.hpp>
#include <weights/placed_source.hpp>

namespace precast::stable_diffusion {

/// The weights of a folder, including those of older diffusers versions, or of a single file in the
/// authors' naming, in which tensors without a name here are unread.
class ComponentWeights final : public weights::PlacedSource {
 public:
  /// `component` is a folder of a diffusers model: "unet", "vae", "text_encoder", "text_encoder_2". Throws
  /// InputError where `path` does not hold it.
  ComponentWeights(const std::filesystem::path& path, std::string_view component,
                   io::TakenCallback on_taken = {});

  /// What the file holds of a model; nothing for a folder.
  std::optional<WeightFile> file() const { return weight_file(source()); }
  /// Whether it is a text encoder of 2.x, whose file may hold one more layer than is run: the authors'
  /// files do, files written from a folder do not.
  bool may_have_one_more() const;
  /// Whether the file has a tensor of that name for the component, even if it is not a parameter of ours.
  bool has_stored(std::string_view stored) const { return tensors().lookup(stored); }
  /// One more than the largest number after `stem` in names, 0 if there is none: blocks("down_blocks.").
  std::int64_t blocks(std::string_view stem) const { return end_of_blocks(stem); }

 private:
  std::string absent_name(std::string_view name) const override;

  std::int64_t layers_ = 0;  ///< of a UNet in the authors' naming: residual blocks per level, down
};

}  // namespace precast::stable_diffusion
