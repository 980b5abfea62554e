// GgufCursor: reads a GGUF file's head from its first byte on, and never past what is there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <precast/io/counted.hpp>
#include <precast/io/gguf_types.hpp>
#include <precast/io/gguf_value.hpp>
#include <precast/io/message.hpp>

namespace precast::io::detail {

/// The file must outlive it. Every member throws InputError where the file ends too early; `inside` says what
/// is being read.
class GgufCursor {
 public:
  GgufCursor(const std::filesystem::path& path, std::span<const std::byte> file) : path_(path), file_(file) {}

  std::size_t position() const { return position_; }
  std::size_t left() const { return file_.size() - position_; }

  std::span<const std::byte> bytes(std::uint64_t count, const std::string& inside) {
    if (count > left())
      throw file_error(path_, "ends inside of " + inside + ", at byte " + std::to_string(position_) + " of " +
                                  std::to_string(file_.size()) + ": the download was cut off, get it again");
    const auto read = file_.subspan(position_, static_cast<std::size_t>(count));
    position_ += static_cast<std::size_t>(count);
    return read;
  }
  template <class T>
  T number(const std::string& inside) {
    return little_endian<T>(bytes(sizeof(T), inside).data());
  }
  std::string_view text(const std::string& inside) {
    const auto characters = bytes(number<std::uint64_t>(inside), inside);
    return {reinterpret_cast<const char*>(characters.data()), characters.size()};
  }
  /// A count of things that take `least` bytes each: refused where so many cannot follow.
  std::uint64_t count(std::size_t least, const std::string& what) {
    const auto stated = number<std::uint64_t>("the number of " + what);
    if (stated > left() / least)
      throw file_error(path_, "claims to have " + std::to_string(stated) + " " + what + ", in " +
                                  counted(static_cast<std::int64_t>(left()), "byte") +
                                  ": the download was cut off, get it again");
    return stated;
  }

  GgufValueType value_type(const std::string& inside) {
    const auto type = number<std::uint32_t>(inside);
    if (type >= gguf_value_types)
      throw file_error(path_, inside + ": unknown type of value " + std::to_string(type) +
                                  ": the file is broken, or of a later version of GGUF");
    return static_cast<GgufValueType>(type);
  }
  /// Steps over a value of that type and returns its bytes.
  std::span<const std::byte> value(GgufValueType type, const std::string& inside) {
    const std::size_t begin = position_;
    if (type == GgufValueType::string) {
      text(inside);
    } else if (type == GgufValueType::array) {
      const GgufValueType element = value_type(inside);
      if (element == GgufValueType::array)
        throw file_error(
            path_, inside + ": an array of arrays, which GGUF readers do not accept: get the file again");
      const std::size_t size = gguf_value_bytes(element);
      const std::uint64_t elements = count(size ? size : sizeof(std::uint64_t), "elements in " + inside);
      if (size)
        bytes(elements * size, inside);
      else
        for (std::uint64_t i = 0; i < elements; ++i) text(inside);
    } else {
      const auto read = bytes(gguf_value_bytes(type), inside);
      if (type == GgufValueType::boolean && read[0] > std::byte{1})
        throw file_error(path_, inside + ": a bool that is neither 0 nor 1: get the file again");
    }
    return file_.subspan(begin, position_ - begin);
  }

 private:
  const std::filesystem::path& path_;
  std::span<const std::byte> file_;
  std::size_t position_ = 0;
};

}  // namespace precast::io::detail
