// SafetensorsFile: the tensors of a .safetensors file, mapped, after its header was checked to the last byte.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <precast/io/config.hpp>
#include <precast/io/counted.hpp>
#include <precast/io/file_dtypes.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/named_tensor.hpp>
#include <precast/nn/parameter_source.hpp>
#include <precast/tensor/shape.hpp>

namespace precast::io {

/// A tensor in a file. `bytes` lies in the map: it need not be aligned, and lives as long as the file object.
struct TensorEntry {
  std::string name;
  FileDtype dtype;
  Shape shape;
  std::span<const std::byte> bytes;
};

/// An open .safetensors file: 8 bytes of header length, a JSON header, then the tensors' bytes without gaps
/// (https://huggingface.co/docs/safetensors). Opening reads the header only. Move only.
class SafetensorsFile {
 public:
  /// Throws InputError where anything in the header does not hold: see the checks below.
  explicit SafetensorsFile(const std::filesystem::path& path) : file_(path) {
    const std::string_view header = header_text();
    const std::span<const std::byte> data = file_.bytes().subspan(length_bytes + header.size());
    const Config json = Config::of_part(header, path, "header");
    for (const auto& [name, value] : json.json().items()) {
      const Config described = json.object(name);
      if (name != "__metadata__") {
        tensors_.push_back(read_tensor(name, described, data));
        continue;
      }
      for (const auto& [key, text] : described.json().items()) metadata_.emplace(key, described.string(key));
    }
    check_layout(data);
  }

  const std::filesystem::path& path() const { return file_.path(); }
  /// Lets go of the memory behind bytes that were read; they stay valid.
  void release_pages() const { file_.release_pages(); }
  /// All tensors, sorted by name.
  const std::vector<TensorEntry>& tensors() const { return tensors_; }
  /// The text that the writer attached.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// The tensor of that name, or nullptr.
  const TensorEntry* lookup(std::string_view name) const { return find_tensor(tensors_, name); }
  /// The tensor of that name. Throws InputError where it is missing.
  const TensorEntry& at(std::string_view name) const { return tensor_at(tensors_, name, path()); }

 private:
  static constexpr std::size_t length_bytes = 8;
  static constexpr std::uint64_t longest_header = 100'000'000;

  std::string_view header_text() const {
    const std::string_view text = file_.text();
    if (text.size() < length_bytes)
      throw file_error(path(),
                       "only " + counted(std::ssize(text), "byte") +
                           ", too short for a safetensors file: the download was cut off, get it again");
    if (text.starts_with("GGUF"))
      throw file_error(path(), "is a GGUF file where a safetensors file is expected: give one of those");
    std::uint64_t length = 0;
    for (std::size_t i = length_bytes; i-- > 0;) length = length << 8 | static_cast<unsigned char>(text[i]);
    if (length > longest_header)
      throw file_error(
          path(), "header: " + std::to_string(length) +
                      " bytes is not a plausible length: this is not a safetensors file, or it is broken");
    if (length > text.size() - length_bytes)
      throw file_error(path(), "header: claims to have " +
                                   counted(static_cast<std::int64_t>(length), "byte") + " in a file of " +
                                   std::to_string(text.size()) + ": the download was cut off, get it again");
    const std::string_view header = text.substr(length_bytes, length);
    if (!header.starts_with('{'))
      throw file_error(path(), "header: does not start with '{' at byte 8: this is not a safetensors file");
    return header;
  }

  TensorEntry read_tensor(const std::string& name, const Config& json,
                          std::span<const std::byte> data) const {
    const auto broken = [&](const std::string& problem) {
      return tensor_error(path(), name, problem + ": get the file again");
    };
    const std::string dtype_name = json.string("dtype");
    const std::optional<FileDtype> dtype = file_dtype(dtype_name);
    if (!dtype)
      throw tensor_error(path(), name,
                         "unknown dtype '" + printable(dtype_name, 40) +
                             "': convert it to F32, BF16, F16, F8_E4M3 or F8_E5M2");

    // Each size alone is bounded too: beside a zero, the product would hide an absurd one.
    const Shape shape = stated_shape(json.integers("shape", 0, Shape::max_elements), name, path());
    const std::int64_t in_block = dtype->info.values_per_block;
    if (in_block > 1 && (shape.rank() == 0 || shape.back() % in_block != 0))
      throw broken("its rows are not whole blocks of " + std::to_string(in_block) + " values, as " +
                   std::string(dtype->file_name) + " has them");
    const std::int64_t bytes = shape.elements() / in_block * dtype->info.bytes_per_block;

    const auto offsets = json.integers("data_offsets", 0, std::numeric_limits<std::int64_t>::max());
    if (offsets.size() != 2) throw broken("its data_offsets must be a list of two offsets");
    const std::int64_t begin = offsets[0], end = offsets[1];
    const std::string range = "bytes " + std::to_string(begin) + " to " + std::to_string(end);
    if (begin > end) throw broken(range + " run backwards");
    if (end > std::ssize(data))
      throw broken(range + " lie outside the file's " + counted(std::ssize(data), "byte") + " of data");
    if (end - begin != bytes)
      throw broken(range + " do not fit " + std::string(dtype->file_name) + " " + to_string(shape) +
                   ", which takes " + std::to_string(bytes));
    return {name, *dtype, shape,
            data.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(bytes))};
  }

  /// The tensors must tile the data: no overlap, no gap, nothing left over.
  void check_layout(std::span<const std::byte> data) {
    std::vector<const TensorEntry*> order;
    for (const TensorEntry& entry : tensors_) order.push_back(&entry);
    const auto end_of = [](const TensorEntry& entry) { return entry.bytes.data() + entry.bytes.size(); };
    std::ranges::sort(order, {},
                      [&](const TensorEntry* e) { return std::pair(e->bytes.data(), end_of(*e)); });
    const std::byte* reached = data.data();
    for (const TensorEntry* entry : order) {
      if (entry->bytes.data() < reached)
        throw tensor_error(path(), entry->name, "overlaps the tensor before it: get the file again");
      if (entry->bytes.data() > reached)
        throw tensor_error(path(), entry->name,
                           "is preceded by a gap of " + counted(entry->bytes.data() - reached, "byte") +
                               " of no tensor: get the file again");
      reached = end_of(*entry);
    }
    const std::int64_t left = data.data() + data.size() - reached;
    if (left != 0)
      throw file_error(path(), "ends with " + counted(left, "byte") + " of no tensor: get it again");
    std::ranges::sort(tensors_, {}, &TensorEntry::name);
  }

  MappedFile file_;
  std::vector<TensorEntry> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace precast::io
