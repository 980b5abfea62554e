// ComponentSource: the weights of one component: a folder, or a file of tensors.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <precast/io/config.hpp>
#include <precast/io/counted.hpp>
#include <precast/io/find_weights.hpp>
#include <precast/io/gguf_parts.hpp>
#include <precast/io/tensor_file.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/nn/parameter_source.hpp>

namespace precast::io {

/// Is told the bytes that were taken, each time a module takes a parameter. May throw to cancel.
using TakenCallback = std::function<void(std::size_t)>;

/// The parameters of a component: a folder as diffusers and transformers write it, or one safetensors or GGUF
/// file. Opening checks all headers and maps the files; bytes are read when a module takes them. Move only.
class ComponentSource final : public nn::ParameterSource {
 public:
  /// Throws InputError where there are no weights, or where a file is not what it claims to be.
  explicit ComponentSource(std::filesystem::path path, TakenCallback on_taken = {})
      : path_(std::move(path)), on_taken_(std::move(on_taken)) {
    const std::filesystem::path file = weights_file(path_);
    if (file.extension() == ".json")
      open_shards(file);
    else
      open_single(file);
  }

  bool contains(std::string_view name) const override { return tensors_.find(name) != tensors_.end(); }

  /// Throws InputError for a tensor that is missing, or that holds neither floating-point numbers nor blocks
  /// of them.
  nn::Parameter find(std::string_view name) const override {
    const auto found = tensors_.find(name);
    if (found == tensors_.end())
      throw tensor_error(path_, name, "is missing: the weights are incomplete or belong to another model");
    const TensorEntry& entry = *found->second.entry;
    if (!entry.dtype.is_float)
      throw tensor_error(files_[found->second.file].path(), name,
                         "has dtype " + std::string(entry.dtype.file_name) +
                             ", which is not supported for weights: convert it to F32, BF16, F16, F8_E4M3 "
                             "or F8_E5M2, or to a type of GGUF that docs/quantisation.md lists");
    return {entry.dtype.info, entry.shape, entry.bytes};
  }

  std::string description() const override { return shown(path_); }
  void taken(std::size_t bytes) const override {
    // What was converted is not read again: without this, the file and its copy would both count as memory in
    // use.
    pages_read_.add(static_cast<std::int64_t>(bytes));
    if ((bytes_since_release_ += bytes) >= release_every) {
      pages_read_.clear();
      bytes_since_release_ = 0;
      for (const TensorFile& file : files_) file.release_pages();
    }
    if (on_taken_) on_taken_(bytes);
  }

  /// Every tensor, sorted by name, whatever its dtype.
  std::vector<const TensorEntry*> tensors() const {
    std::vector<const TensorEntry*> result;
    for (const auto& [name, place] : tensors_) result.push_back(place.entry);
    return result;
  }
  /// The tensor of that name, whatever its dtype, or nullptr.
  const TensorEntry* lookup(std::string_view name) const {
    const auto found = tensors_.find(name);
    return found == tensors_.end() ? nullptr : found->second.entry;
  }
  /// Whether any tensor's name begins so, found without looking at all of them.
  bool has_names_beginning(std::string_view start) const {
    const auto first = tensors_.lower_bound(start);
    return first != tensors_.end() && first->first.starts_with(start);
  }
  const std::vector<TensorFile>& files() const { return files_; }

 private:
  static constexpr std::size_t release_every = std::size_t{64} << 20;
  struct Place {
    std::size_t file;
    const TensorEntry* entry;
  };

  void open_single(const std::filesystem::path& file) {
    files_.emplace_back(file);
    if (files_.front().gguf()) open_other_parts();
    for (std::size_t i = 0; i < files_.size(); ++i)
      for (const TensorEntry& entry : files_[i].tensors())
        if (!tensors_.emplace(entry.name, Place{i, &entry}).second)
          throw tensor_error(files_[i].path(), entry.name,
                             "is in another part of the model, too: get the parts again");
  }

  /// Of a GGUF model in several files, of which one is open, all in their order. The first has the values of
  /// all.
  void open_other_parts() {
    const std::vector<std::filesystem::path> paths = gguf_part_paths(*files_.front().gguf());
    if (paths.size() == 1) return;
    files_.clear();
    files_.reserve(paths.size());
    std::int64_t tensors = 0;
    for (const std::filesystem::path& path : paths) {
      files_.emplace_back(path, files_.empty() ? nullptr : files_.front().gguf());
      const GgufFile* const part = files_.back().gguf();
      if (!part) throw file_error(path, "is not a GGUF file, as the other parts are: get the parts again");
      check_gguf_part(*part, {std::ssize(files_) - 1, std::ssize(paths)});
      tensors += std::ssize(part->tensors());
    }
    const GgufValue* const all = files_.front().gguf()->value("split.tensors.count");
    if (all && all->integer() != tensors)
      throw file_error(paths.front(), "is of a model of " + counted(all->integer(), "tensor") +
                                          ", and its parts have " + std::to_string(tensors) +
                                          ": get the parts again");
  }

  void open_shards(const std::filesystem::path& index) {
    const Config json = Config::load(index);
    if (!json.has("weight_map"))
      throw file_error(
          index, "holds no weights, and is not an index of files that do: name the weights or their folder");
    const Config map = json.object("weight_map");
    std::map<std::string, std::size_t> shards;
    for (const auto& [name, value] : map.json().items()) shards.emplace(shard_name(map, name), 0);
    if (shards.empty()) throw json.error("weight_map", "is empty: get the file again");
    files_.reserve(shards.size());
    for (auto& [file, position] : shards) {
      position = files_.size();
      files_.emplace_back(index.parent_path() / file);
    }
    for (const auto& [name, value] : map.json().items()) {
      const std::size_t position = shards.at(map.string(name));
      tensors_.emplace(name, Place{position, &files_[position].at(name)});
    }
    // Other programs load shards whole: what the map does not name is there too.
    for (std::size_t i = 0; i < files_.size(); ++i)
      for (const TensorEntry& entry : files_[i].tensors()) {
        const auto [found, is_new] = tensors_.emplace(entry.name, Place{i, &entry});
        if (found->second.file != i)
          throw tensor_error(files_[i].path(), entry.name,
                             "is in " + shown(files_[found->second.file].path()) +
                                 " too, and must be in one file only: get the files again");
      }
  }

  /// A shard's file name, which must not lead out of the folder.
  static std::string shard_name(const Config& map, const std::string& tensor) {
    std::string file = map.string(tensor);
    if (!file.ends_with(".safetensors") ||
        file.find_first_of(std::string_view("/\\\0", 3)) != std::string::npos)
      throw map.error(tensor, "is '" + printable(file) +
                                  "', which is not a .safetensors file in this folder: get the index again");
    return file;
  }

  std::filesystem::path path_;
  TakenCallback on_taken_;
  mutable std::size_t bytes_since_release_ = 0;
  mutable DryHold pages_read_;
  std::vector<TensorFile> files_;
  std::map<std::string, Place, std::less<>> tensors_;
};

}  // namespace precast::io
