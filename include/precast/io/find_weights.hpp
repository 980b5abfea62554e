// Which file of a component's folder holds its weights, among those that diffusers and transformers write.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <precast/error.hpp>
#include <precast/io/checkpoint.hpp>
#include <precast/io/config.hpp>
#include <precast/io/message.hpp>

namespace precast::io {

namespace detail {

inline constexpr std::string_view single_end = ".safetensors", index_start = ".safetensors.index",
                                  index_end = ".json", gguf_end = ".gguf";
/// What the names of a component's weights begin with.
inline constexpr std::array<std::string_view, 2> weight_stems{"diffusion_pytorch_model", "model"};

/// Whether a folder's config is one of transformers': it has no class of diffusers.
inline bool is_of_transformers(const std::filesystem::path& folder) {
  const std::filesystem::path config = folder / "config.json";
  if (!is_there(config)) return false;
  const Config json = Config::load(config);
  return !json.has("_class_name") && (json.has("model_type") || json.has("architectures"));
}

/// GGUF, which `precast convert` writes into folders, comes last. Where a folder has both other forms,
/// diffusers reads the shards and transformers the single file; each its own names before the other's.
/// `variant` is "" or "NAME".
inline std::optional<std::filesystem::path> find_variant(const std::filesystem::path& folder,
                                                         const std::string& variant) {
  const std::string infix = variant.empty() ? "" : "." + variant;
  std::array<std::string_view, 2> in_order = weight_stems;
  if (is_of_transformers(folder)) std::ranges::reverse(in_order);
  for (const std::string_view stem : in_order) {
    const std::filesystem::path single = folder / (std::string(stem).append(infix).append(single_end));
    const std::filesystem::path index =
        folder / (std::string(stem).append(index_start).append(infix).append(index_end));
    const std::filesystem::path gguf = folder / (std::string(stem).append(infix).append(gguf_end));
    const bool index_first = stem == weight_stems.front();
    for (const auto& file : {index_first ? index : single, index_first ? single : index, gguf})
      if (is_there(file)) return file;
  }
  return std::nullopt;
}

/// The variants of which a folder has a single file or an index of shards.
inline std::set<std::string> variants_in(const std::filesystem::path& folder) {
  std::set<std::string> variants;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    for (const std::string_view stem : weight_stems)
      for (const auto& [start, end] : {std::pair(std::string(stem) + ".", single_end),
                                       {std::string(stem).append(index_start) + ".", index_end}}) {
        if (!name.starts_with(start) || !name.ends_with(end) || name.size() <= start.size() + end.size())
          continue;
        const std::string variant = name.substr(start.size(), name.size() - start.size() - end.size());
        if (variant.find_first_of(".-") == std::string::npos) variants.insert(printable(variant));
      }
  }
  return variants;
}

/// Names of shards do not say which of several sets they are of, nor whether all are there.
inline void refuse_shards_alone(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    for (const std::string_view stem : weight_stems) {
      const std::size_t numbers = name.find("-0");  // "STEM.VARIANT-00001-of-00002.safetensors"
      if (!name.starts_with(stem) || !name.ends_with(single_end) || numbers == std::string::npos ||
          numbers < stem.size() || name.find("-of-", numbers) == std::string::npos)
        continue;
      const std::string variant = name.substr(stem.size(), numbers - stem.size());
      if (!variant.empty() && variant.front() != '.') continue;
      throw file_error(
          folder, "holds " + printable(name) + ", one of several shards, and not their index, " +
                      printable(std::string(stem).append(index_start).append(variant).append(index_end)) +
                      ": put it into this folder as well");
    }
  }
}

}  // namespace detail

/// The file of a folder that holds a component's weights: safetensors, an index of shards, or GGUF; nothing
/// where there is none. Where all of them are of one variant, as diffusers calls what it writes to
/// `model.fp16.safetensors`, that variant. Throws InputError where there are several variants to choose from,
/// and where there are shards without their index.
inline std::optional<std::filesystem::path> find_weights(const std::filesystem::path& folder) {
  if (const auto file = detail::find_variant(folder, "")) return file;
  const std::set<std::string> variants = detail::variants_in(folder);
  if (variants.size() > 1)
    throw file_error(folder, "holds weights of several variants, among them '" + *variants.begin() +
                                 "' and '" + *variants.rbegin() +
                                 "': keep one, or remove the variant from the names of its files");
  if (variants.empty()) detail::refuse_shards_alone(folder);
  return variants.empty() ? std::nullopt : detail::find_variant(folder, *variants.begin());
}

/// The file that holds a component's weights: `path` itself where it is a file, else what `find_weights`
/// finds. Throws InputError where there is none.
inline std::filesystem::path weights_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!is_there(path)) throw file_error(path, "does not exist: check the path, or get the model again");
  if (!std::filesystem::is_directory(path, ignored)) return path;
  if (const auto file = find_weights(path)) return *file;
  if (const auto name = find_checkpoint(path))
    throw file_error(path, "holds its weights as a PyTorch checkpoint, " + printable(*name) + ", " +
                               std::string(no_checkpoint_is_read));
  throw file_error(
      path,
      "holds no model.safetensors or diffusion_pytorch_model.safetensors, nor an index of shards: "
      "get the component's weights in safetensors form");
}

}  // namespace precast::io
