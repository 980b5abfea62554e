// ComponentWeights: a component of a Stable Diffusion model out of a folder or a single file, under the names
// that diffusers gives its parameters today, which are those that our modules ask for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <stable_diffusion/weight_file.hpp>
#include <weights/weight_tensors.hpp>

#include <precast/io/component_source.hpp>
#include <precast/io/name_table.hpp>
#include <precast/nn/parameter_source.hpp>

namespace precast::stable_diffusion {

/// Opened weights: a folder's, those of older diffusers among them; or a single file's in the authors' names.
/// Opening reads heads, no values. Neither moved nor copied.
class ComponentWeights final : public nn::ParameterSource {
 public:
  /// `component` is a folder of a diffusers model: "unet", "vae", "text_encoder", "text_encoder_2". Throws
  /// InputError where `path` does not hold it.
  ComponentWeights(const std::filesystem::path& path, std::string_view component,
                   io::TakenCallback on_taken = {});
  ComponentWeights(const ComponentWeights&) = delete;
  ComponentWeights& operator=(const ComponentWeights&) = delete;

  bool contains(std::string_view name) const override { return places_.contains(name); }
  nn::Parameter find(std::string_view name) const override;
  std::string description() const override { return tensors_.description(); }
  void taken(std::size_t bytes) const override { tensors_.taken(bytes); }

  Naming naming() const { return found_.naming; }
  /// "unet", "vae", "text_encoder" or "text_encoder_2".
  const std::string& component() const { return found_.component; }
  /// What of a model the file holds; nothing of a folder.
  const std::optional<WeightFile>& file() const { return whole_; }
  const std::filesystem::path& path() const { return path_; }
  /// The names of all that `find` gives.
  std::vector<std::string> names() const;
  /// What a parameter is called in the file, or would be if it were there.
  std::string stored_name(std::string_view name) const;
  /// What progress counts to.
  std::size_t bytes_to_take() const { return tensors_.bytes_to_take(); }
  /// Tensors in their authors' names, with the component's prefix, that have no name here.
  const std::vector<std::string>& unread() const { return unread_; }
  /// Whether it is a text encoder of 2.x, of which a file may hold one layer more than is run: the authors'
  /// do, and those do not that were written from a folder.
  bool may_have_one_more() const;
  /// Whether the component has a tensor of that name in the file, whether it is a parameter of ours or not.
  bool has_stored(std::string_view stored) const { return tensors_.lookup(stored); }
  /// The shape of a parameter, nothing where it is not there.
  std::optional<Shape> shape(std::string_view name) const;
  /// How many numbers from 0 on follow `stem` in names: blocks("down_blocks.").
  std::int64_t blocks(std::string_view stem) const;
  /// "FILE: problem".
  InputError error(const std::string& problem) const;

 private:
  /// Where a parameter lies.
  struct Place {
    io::NamedRows rows;
    bool transposed = false;
  };
  FileComponent component_in(std::string_view component) const;
  /// Throws InputError where a file is known for something else than this component.
  void refuse_others(std::string_view component) const;
  void add_places();
  /// What a parameter is called in the file behind the component's prefix, or would be.
  std::string original_name(std::string_view name) const;
  void add_original(std::string_view stored);

  std::filesystem::path path_;
  io::ComponentSource source_;
  std::optional<WeightFile> whole_;
  FileComponent found_;
  weights::WeightTensors tensors_;
  std::int64_t layers_ = 0;      ///< of a UNet in the authors' names: residual blocks of a level, down
  std::int64_t vae_levels_ = 0;  ///< of a VAE in the authors' names
  std::map<std::string, Place, std::less<>> places_;
  std::vector<std::string> unread_;
};

}  // namespace precast::stable_diffusion
