// GgufValue: a value of a GGUF file beside its tensors, read where it lies.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <precast/io/gguf_types.hpp>
#include <precast/io/message.hpp>

namespace precast::io {

namespace detail {

template <class T>
T little_endian(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace detail

/// A named value in a file's map, checked when the file was opened; it lives as long as the file object.
/// Members that ask for another type than it has throw InputError, which names file and key.
class GgufValue {
 public:
  /// `bytes` is the value as it lies in the file, without its type: of an array its element type, count and
  /// elements, of a string its length and characters.
  GgufValue(std::shared_ptr<const std::filesystem::path> file, std::string_view key, GgufValueType type,
            std::span<const std::byte> bytes)
      : file_(std::move(file)), key_(key), type_(type), bytes_(bytes) {}

  std::string_view key() const { return key_; }
  GgufValueType type() const { return type_; }
  std::span<const std::byte> bytes() const { return bytes_; }
  bool is_array() const { return type_ == GgufValueType::array; }
  /// Of an array: what its elements are, and how many.
  GgufValueType element_type() const {
    expect(is_array(), "an array");
    return static_cast<GgufValueType>(detail::little_endian<std::uint32_t>(bytes_.data()));
  }
  std::uint64_t count() const {
    expect(is_array(), "an array");
    return detail::little_endian<std::uint64_t>(bytes_.data() + 4);
  }

  /// A whole number of any type, where it fits.
  std::int64_t integer() const { return integer_at(type_, bytes_.data()); }
  /// A number of any type.
  double real() const { return real_at(type_, bytes_.data()); }
  bool boolean() const {
    expect(type_ == GgufValueType::boolean, "a bool");
    return bytes_[0] != std::byte{0};
  }
  std::string_view text() const {
    expect(type_ == GgufValueType::string, "a string");
    return text_at(bytes_.data());
  }
  /// The elements of an array of whole numbers, of numbers, of strings.
  std::vector<std::int64_t> integers() const {
    return elements<std::int64_t>(
        [&](GgufValueType type, const std::byte* at) { return integer_at(type, at); });
  }
  std::vector<double> reals() const {
    return elements<double>([&](GgufValueType type, const std::byte* at) { return real_at(type, at); });
  }
  std::vector<std::string_view> texts() const {
    expect(is_array() && element_type() == GgufValueType::string, "an array of strings");
    std::vector<std::string_view> texts;
    texts.reserve(count());  // each was found in the file, 8 bytes at least
    for (const std::byte* at = bytes_.data() + array_head; texts.size() < count();
         at += 8 + texts.back().size())
      texts.push_back(text_at(at));
    return texts;
  }

  /// What `convert` makes of the value, a number or bool, in the type that it has in the file; the same of
  /// each element of an array.
  template <class T, class Convert>
  T number_as(Convert&& convert) const {
    return number_at<T>(type_, bytes_.data(), convert);
  }
  template <class T, class Convert>
  std::vector<T> numbers_as(Convert&& convert) const {
    return elements<T>(
        [&](GgufValueType type, const std::byte* at) { return number_at<T>(type, at, convert); });
  }

  /// Bytes before an array's elements: their type and count.
  static constexpr std::size_t array_head = 12;

 private:
  void expect(bool holds, const char* wanted) const {
    if (holds) return;
    throw file_error(*file_, "key '" + printable(key_) + "' must be " + wanted + ", not " +
                                 std::string(gguf_value_name(type_)) + ": get the file again");
  }
  static std::string_view text_at(const std::byte* at) {
    return {reinterpret_cast<const char*>(at + 8), detail::little_endian<std::uint64_t>(at)};
  }
  template <class T, class Convert>
  T number_at(GgufValueType type, const std::byte* at, Convert&& convert) const {
    switch (type) {
      case GgufValueType::u8:
        return convert(detail::little_endian<std::uint8_t>(at));
      case GgufValueType::i8:
        return convert(detail::little_endian<std::int8_t>(at));
      case GgufValueType::u16:
        return convert(detail::little_endian<std::uint16_t>(at));
      case GgufValueType::i16:
        return convert(detail::little_endian<std::int16_t>(at));
      case GgufValueType::u32:
        return convert(detail::little_endian<std::uint32_t>(at));
      case GgufValueType::i32:
        return convert(detail::little_endian<std::int32_t>(at));
      case GgufValueType::u64:
        return convert(detail::little_endian<std::uint64_t>(at));
      case GgufValueType::i64:
        return convert(detail::little_endian<std::int64_t>(at));
      case GgufValueType::f32:
        return convert(detail::little_endian<f32>(at));
      case GgufValueType::f64:
        return convert(detail::little_endian<double>(at));
      case GgufValueType::boolean:
        return convert(*at != std::byte{0});
      default:
        expect(false, "a whole number");
        return T{};
    }
  }
  std::int64_t integer_at(GgufValueType type, const std::byte* at) const {
    return number_at<std::int64_t>(type, at, [&]<class Number>(Number value) {
      expect(std::is_integral_v<Number> && !std::is_same_v<Number, bool>, "a whole number");
      if constexpr (std::is_same_v<Number, std::uint64_t>)
        expect(value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()),
               "a whole number below 2^63");
      return static_cast<std::int64_t>(value);
    });
  }
  double real_at(GgufValueType type, const std::byte* at) const {
    return number_at<double>(type, at, [&]<class Number>(Number value) {
      if constexpr (std::is_floating_point_v<Number>) return static_cast<double>(value);
      return static_cast<double>(integer_at(type, at));
    });
  }
  template <class T, class Read>
  std::vector<T> elements(Read&& read) const {
    const std::size_t bytes = gguf_value_bytes(element_type());
    expect(bytes != 0, "an array of numbers");
    std::vector<T> values;
    values.reserve(count());
    for (std::size_t i = 0; i < count(); ++i)
      values.push_back(read(element_type(), bytes_.data() + array_head + i * bytes));
    return values;
  }

  std::shared_ptr<const std::filesystem::path> file_;  // one for all values of a file
  std::string_view key_;
  GgufValueType type_;
  std::span<const std::byte> bytes_;
};

}  // namespace precast::io
