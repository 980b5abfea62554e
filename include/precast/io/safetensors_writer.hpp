// SafetensorsWriter: a .safetensors file as a stream: what it will hold first, then the tensors' bytes as
// they come.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include <precast/io/atomic_file.hpp>
#include <precast/io/safetensors.hpp>

namespace precast::io {

/// In this order: `set` texts, `declare` tensors, `write` their bytes without gaps, `commit`. The file
/// appears whole or not at all. Members throw InputError that names the file; what a caller does in the wrong
/// order or with a wrong number of bytes is an Error.
class SafetensorsWriter {
 public:
  explicit SafetensorsWriter(const std::filesystem::path& target, OldFile old = OldFile::replaced)
      : file_(target, old) {
    static_assert(std::endian::native == std::endian::little,
                  "safetensors files are little endian: swap bytes first");
  }

  /// A text beside the tensors, in __metadata__.
  void set(const std::string& key, const std::string& value) {
    expect_no_head();
    header_["__metadata__"][key] = value;
  }

  /// Announces the next tensor, of a dtype that safetensors has.
  void declare(std::string_view name, const DtypeInfo& dtype, const Shape& shape) {
    expect_no_head();
    const std::optional<FileDtype> known = file_dtype(dtype);
    if (!known)
      throw tensor_error(file_.target(), name,
                         "safetensors has no " + std::string(dtype.name) + ": write .gguf");
    const std::string key(name);
    if (!is_utf8(key))
      throw tensor_error(file_.target(), name,
                         "has a name that is not UTF-8, as names in safetensors are: write .gguf");
    if (key.empty() || key == "__metadata__")
      throw tensor_error(file_.target(), name, "cannot have this name in safetensors: give it another one");
    if (header_.contains(key))
      throw tensor_error(file_.target(), name, "was given twice: give it another name");
    if (dtype.values_per_block > 1 && (shape.rank() == 0 || shape.back() % dtype.values_per_block != 0))
      throw tensor_error(
          file_.target(), name,
          "its rows are not whole blocks of " + std::string(dtype.name) + ": choose another type for it");
    const std::int64_t end = declared_ + shape.elements() / dtype.values_per_block * dtype.bytes_per_block;
    header_[key] = {
        {"dtype", known->file_name}, {"shape", shape.sizes()}, {"data_offsets", {declared_, end}}};
    declared_ = end;
  }

  /// The next bytes of the tensors, in the order of their declarations: any number of them at a time.
  void write(std::span<const std::byte> bytes) {
    write_head();
    if (static_cast<std::int64_t>(bytes.size()) > declared_ - written_)
      throw Error("SafetensorsWriter: " + std::to_string(bytes.size()) + " bytes more than the tensors take");
    file_.write(bytes);
    written_ += static_cast<std::int64_t>(bytes.size());
  }

  /// Brings what was written to the disk, as `commit` does first.
  void sync() { file_.sync(); }

  /// Makes the file appear, once every declared byte is written.
  void commit() {
    write({});
    if (written_ != declared_)
      throw Error("SafetensorsWriter: " + std::to_string(written_) + " of " + std::to_string(declared_) +
                  " bytes were written");
    file_.commit();
  }

 private:
  void expect_no_head() const {
    if (head_is_written_)
      throw Error("SafetensorsWriter: all tensors are declared before the first is written");
  }
  /// Two names of other bytes would be the same one in the header.
  static bool is_utf8(const std::string& name) {
    try {
      (void)nlohmann::json(name).dump();
      return true;
    } catch (const nlohmann::json::type_error&) {
      return false;
    }
  }
  void write_head() {
    if (head_is_written_) return;
    head_is_written_ = true;
    std::string text = json_line(header_);
    text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the values are aligned in a memory map
    const std::uint64_t length = text.size();
    file_.write(std::as_bytes(std::span(&length, 1)));
    file_.write(text);
  }

  AtomicFile file_;
  nlohmann::json header_ = nlohmann::json::object();
  std::int64_t declared_ = 0, written_ = 0;
  bool head_is_written_ = false;
};

}  // namespace precast::io
