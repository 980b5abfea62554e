// TensorFile: a file of tensors, safetensors or GGUF, told apart by what it begins with and not by its name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <precast/io/checkpoint.hpp>
#include <precast/io/gguf.hpp>
#include <precast/io/gguf_shapes.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/named_tensor.hpp>
#include <precast/io/safetensors.hpp>
#include <precast/io/suffix.hpp>

namespace precast::io {

/// An open file of tensors. GGUF's tensors are entries like others: their dtype is named as it is here
/// ("q4_k"), and `is_float` says whether values of it can be read. Opening reads the head only. Move only.
class TensorFile {
 public:
  /// Throws InputError where the file is neither, or where anything in its head does not hold. `first` is the
  /// first part of a GGUF model in several files, which has what is said of shapes in all of them.
  explicit TensorFile(const std::filesystem::path& path, const GgufFile* first = nullptr) {
    const std::string start = beginning(path);
    if (start.starts_with("GGUF") || suffix_of(path) == ".gguf") {
      gguf_.emplace(path);
      const GgufShapes shapes(*gguf_, first ? *first : *gguf_);
      for (const GgufTensor& tensor : gguf_->tensors())
        tensors_.push_back({tensor.name,
                            {tensor.type.info.name, tensor.type.info, tensor.type.has_values},
                            shapes.of(tensor),
                            tensor.bytes});
      return;
    }
    // A safetensors file may begin with these bytes too, as the length of its header, whose '{' comes then.
    constexpr std::size_t header_at = 8;
    const bool has_header = start.size() > header_at && start[header_at] == '{';
    if (!has_header && begins_as_checkpoint(start))
      throw file_error(path, "is a PyTorch checkpoint, " + std::string(no_checkpoint_is_read));
    safetensors_.emplace(path);
  }

  const std::filesystem::path& path() const { return gguf_ ? gguf_->path() : safetensors_->path(); }
  /// Lets go of the memory behind bytes that were read; they stay valid.
  void release_pages() const { gguf_ ? gguf_->release_pages() : safetensors_->release_pages(); }
  /// All tensors, sorted by name.
  const std::vector<TensorEntry>& tensors() const { return gguf_ ? tensors_ : safetensors_->tensors(); }

  /// The tensor of that name, or nullptr.
  const TensorEntry* lookup(std::string_view name) const { return find_tensor(tensors(), name); }
  /// The tensor of that name. Throws InputError where it is missing.
  const TensorEntry& at(std::string_view name) const { return tensor_at(tensors(), name, path()); }

  /// The file as what it is, or nullptr: for what only one of the two has.
  const GgufFile* gguf() const { return gguf_ ? &*gguf_ : nullptr; }
  const SafetensorsFile* safetensors() const { return safetensors_ ? &*safetensors_ : nullptr; }

 private:
  /// Its first bytes. Throws InputError for a text.
  static std::string beginning(const std::filesystem::path& path) {
    const MappedFile file(path);
    refuse_text(path, file.text());
    return std::string(file.text().substr(0, 9));
  }

  /// What servers send in a file's place where a download is refused or its name is wrong: a page, or a line.
  /// Neither kind of file is text, whose first bytes are numbers with zeros in them.
  static void refuse_text(const std::filesystem::path& path, std::string_view text) {
    constexpr std::size_t longest = std::size_t{1} << 20, shown_bytes = 40;
    const auto is_text = [](char c) {
      return static_cast<unsigned char>(c) >= ' ' || (c >= '\t' && c <= '\r');
    };
    if (text.size() < 16 || text.size() > longest || !std::ranges::all_of(text, is_text)) return;
    throw file_error(path, "is text that begins with '" + printable(text, shown_bytes) +
                               "', not a file of tensors: get the file again, under its right name, and "
                               "logged in where its model requires that");
  }

  std::optional<SafetensorsFile> safetensors_;
  std::optional<GgufFile> gguf_;
  std::vector<TensorEntry> tensors_;  // of a GGUF file
};

}  // namespace precast::io
