// GgufWriter: a .gguf file as a stream: what it will hold first, then the tensors' bytes as they come.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <precast/io/atomic_file.hpp>
#include <precast/io/gguf.hpp>

namespace precast::io {

/// Writes version 3. In this order: `set` values, `declare` tensors, `write` their bytes, `commit`. The file
/// appears whole or not at all. Members throw InputError that names the file; what a caller does in the wrong
/// order or with a wrong number of bytes is an Error.
class GgufWriter {
 public:
  /// Tensors will begin at multiples of `alignment` bytes, a power of two.
  explicit GgufWriter(const std::filesystem::path& target,
                      std::uint32_t alignment = GgufFile::usual_alignment)
      : file_(target), alignment_(alignment) {
    if (!std::has_single_bit(alignment))
      throw Error("GgufWriter: an alignment of " + std::to_string(alignment) + " is not a power of two");
    if (alignment != GgufFile::usual_alignment)
      set_bytes(alignment_key, GgufValueType::u32, raw(alignment), true);
  }

  /// A value beside the tensors.
  void set(std::string_view key, std::string_view value) {
    set_bytes(key, GgufValueType::string, text(value));
  }
  void set(std::string_view key, const char* value) { set(key, std::string_view(value)); }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  void set(std::string_view key, Number value) { set_bytes(key, type_of<Number>(), raw(value)); }
  template <class Number>
    requires std::is_arithmetic_v<Number>
  void set(std::string_view key, std::span<const Number> values) {
    std::string bytes = array_head(type_of<Number>(), values.size());
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    set_bytes(key, GgufValueType::array, bytes);
  }
  void set(std::string_view key, std::span<const std::string> values) {
    std::string bytes = array_head(GgufValueType::string, values.size());
    for (const std::string& value : values) bytes += text(value);
    set_bytes(key, GgufValueType::array, bytes);
  }
  /// A value as another file has it; that file's alignment has no say here.
  void set(const GgufValue& value) {
    if (value.key() == alignment_key) return;
    set_bytes(value.key(), value.type(),
              {reinterpret_cast<const char*>(value.bytes().data()), value.bytes().size()});
  }

  /// Announces the next tensor, of a dtype that GGUF has, in rows of whole blocks.
  void declare(std::string_view name, const DtypeInfo& dtype, const Shape& shape) {
    const auto refuse = [&](const std::string& problem) {
      throw tensor_error(file_.target(), name, problem);
    };
    if (head_is_written_) throw Error("GgufWriter: all tensors are declared before the first is written");
    const GgufType* type = gguf_type(dtype.name);
    if (!type || type->info != dtype)
      refuse("GGUF has no " + std::string(dtype.name) + ": choose another type, or write safetensors");
    if (name.empty() || names_.contains(name)) refuse("needs a name of its own");
    if (shape.rank() > GgufFile::most_dimensions)
      refuse(to_string(shape) + " has more than the 4 dimensions that GGUF has: write safetensors");
    if (shape.back() % dtype.values_per_block != 0)
      refuse("rows of " + std::to_string(shape.back()) + " values are not whole blocks of " +
             std::string(dtype.name) + ": choose a type that divides them");
    const auto bytes = static_cast<std::uint64_t>(shape.elements() / dtype.values_per_block) *
                       static_cast<std::uint64_t>(dtype.bytes_per_block);
    tensors_ += text(name) + raw(static_cast<std::uint32_t>(shape.rank()));
    for (std::size_t i = shape.rank(); i-- > 0;) tensors_ += raw(static_cast<std::uint64_t>(shape[i]));
    tensors_ += raw(type->number) + raw(next_offset_);
    names_.emplace(name);
    sizes_.push_back(bytes);
    next_offset_ += bytes + padding_after(bytes);
  }

  /// The next bytes of the tensors, in the order of their declarations: any number of them at a time, of one
  /// tensor or of several.
  void write(std::span<const std::byte> bytes) {
    write_head();
    while (true) {
      while (current_ < sizes_.size() && written_ == sizes_[current_]) finish_tensor();
      if (bytes.empty()) return;
      if (current_ == sizes_.size())
        throw Error("GgufWriter: " + std::to_string(bytes.size()) + " bytes more than the tensors take");
      const auto some =
          static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), sizes_[current_] - written_));
      file_.write(bytes.first(some));
      bytes = bytes.subspan(some);
      written_ += some;
    }
  }

  /// Makes the file appear, once every declared byte is written.
  void commit() {
    write({});
    if (current_ != sizes_.size())
      throw Error("GgufWriter: tensor " + std::to_string(current_) + " has " + std::to_string(written_) +
                  " of its " + std::to_string(sizes_[current_]) + " bytes");
    file_.commit();
  }

 private:
  template <class T>
  static std::string raw(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }
  static std::string text(std::string_view characters) {
    return raw(static_cast<std::uint64_t>(characters.size())).append(characters);
  }
  static std::string array_head(GgufValueType element, std::size_t count) {
    return raw(static_cast<std::uint32_t>(element)) + raw(static_cast<std::uint64_t>(count));
  }
  template <class Number>
  static constexpr GgufValueType type_of() {
    using enum GgufValueType;
    if constexpr (std::is_same_v<Number, bool>)
      return boolean;
    else if constexpr (std::is_same_v<Number, float>)
      return f32;
    else if constexpr (std::is_same_v<Number, double>)
      return f64;
    else {
      static_assert(std::is_integral_v<Number>, "GGUF holds f32, f64, integers and bool.");
      constexpr bool is_signed = std::is_signed_v<Number>;
      if constexpr (sizeof(Number) == 1)
        return is_signed ? i8 : u8;
      else if constexpr (sizeof(Number) == 2)
        return is_signed ? i16 : u16;
      else if constexpr (sizeof(Number) == 4)
        return is_signed ? i32 : u32;
      else
        return is_signed ? i64 : u64;
    }
  }

  static constexpr std::string_view alignment_key = "general.alignment";

  void set_bytes(std::string_view key, GgufValueType type, std::string_view bytes, bool by_writer = false) {
    if (head_is_written_) throw Error("GgufWriter: values stand before the tensors' bytes");
    if (key == alignment_key && !by_writer)
      throw Error("GgufWriter: the alignment is given to its constructor, which writes it as a value");
    if (key.empty() || !keys_.emplace(key).second)
      throw file_error(file_.target(),
                       "key '" + printable(key) + "' is empty or was set twice: give it another name");
    values_ += text(key) + raw(static_cast<std::uint32_t>(type));
    values_ += bytes;
  }

  std::uint64_t padding_after(std::uint64_t bytes) const {
    return (alignment_ - bytes % alignment_) % alignment_;
  }
  void pad_after(std::uint64_t bytes) {
    const std::string zeros(static_cast<std::size_t>(std::min<std::uint64_t>(padding_after(bytes), 4096)),
                            '\0');
    for (std::uint64_t left = padding_after(bytes); left > 0;) {
      const auto some = static_cast<std::size_t>(std::min<std::uint64_t>(left, zeros.size()));
      file_.write(std::string_view(zeros).substr(0, some));
      left -= some;
    }
  }

  void write_head() {
    if (head_is_written_) return;
    head_is_written_ = true;
    const std::string head = "GGUF" + raw(std::uint32_t{3}) + raw(static_cast<std::uint64_t>(sizes_.size())) +
                             raw(static_cast<std::uint64_t>(keys_.size())) + values_ + tensors_;
    file_.write(std::string_view(head));
    pad_after(head.size());
  }
  void finish_tensor() {
    pad_after(sizes_[current_]);
    ++current_;
    written_ = 0;
  }

  AtomicFile file_;
  std::uint64_t alignment_;
  std::string values_, tensors_;  // as they stand in the head
  std::set<std::string, std::less<>> keys_, names_;
  std::vector<std::uint64_t> sizes_;
  std::uint64_t next_offset_ = 0;
  bool head_is_written_ = false;
  std::size_t current_ = 0;
  std::uint64_t written_ = 0;  // of the current tensor
};

}  // namespace precast::io
