// ComponentWeights: a component of a Stable Diffusion model out of a folder or a single file, under the names
// that diffusers gives its parameters today, which are those that our modules ask for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <stable_diffusion/weight_file.hpp>
#include <weights/placed_source.hpp>

namespace precast::stable_diffusion {

/// A folder's weights, those of older diffusers among them; or a single file's in the authors' names, of
/// which what has no name here is unread.
class ComponentWeights final : public weights::PlacedSource {
 public:
  /// `component` is a folder of a diffusers model: "unet", "vae", "text_encoder", "text_encoder_2". Throws
  /// InputError where `path` does not hold it.
  ComponentWeights(const std::filesystem::path& path, std::string_view component,
                   io::TakenCallback on_taken = {});

  /// What of a model the file holds; nothing of a folder.
  std::optional<WeightFile> file() const { return weight_file(source()); }
  /// Whether it is a text encoder of 2.x, of which a file may hold one layer more than is run: the authors'
  /// do, and those do not that were written from a folder.
  bool may_have_one_more() const;
  /// Whether the component has a tensor of that name in the file, whether it is a parameter of ours or not.
  bool has_stored(std::string_view stored) const { return tensors().lookup(stored); }
  /// How many numbers from 0 on follow `stem` in names: blocks("down_blocks.").
  std::int64_t blocks(std::string_view stem) const { return end_of_blocks(stem); }

 private:
  std::string absent_name(std::string_view name) const override;

  std::int64_t layers_ = 0;  ///< of a UNet in the authors' names: residual blocks of a level, down
};

}  // namespace precast::stable_diffusion
