// GGUF files made byte by byte, well-formed and not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace precast::testing {

/// A number as it lies in a file.
template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}
inline std::string gguf_text(std::string_view text) {
  return raw(std::uint64_t{text.size()}) + std::string(text);
}

/// The description of a tensor; sizes in the file's order, the fastest first.
struct GgufTensorBytes {
  std::string name = "x.y";
  std::vector<std::uint64_t> sizes = {4, 2};
  std::uint32_t type = 0;
  std::uint64_t offset = 0;

  std::string bytes() const {
    std::string text = gguf_text(name) + raw(static_cast<std::uint32_t>(sizes.size()));
    for (const std::uint64_t size : sizes) text += raw(size);
    return text + raw(type) + raw(offset);
  }
};

/// A file; what is given takes the place of what would be right.
struct GgufBytes {
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::vector<std::string> values;  ///< each a key, a type and a value
  std::vector<GgufTensorBytes> tensors = {{}};
  std::uint64_t data_bytes = 32;
  std::uint64_t alignment = 32;
  std::int64_t more_tensors = 0, more_values = 0;  ///< added to the counts

  std::string head() const {
    std::string text = magic + raw(version) + raw(tensors.size() + static_cast<std::uint64_t>(more_tensors)) +
                       raw(values.size() + static_cast<std::uint64_t>(more_values));
    for (const std::string& value : values) text += value;
    for (const GgufTensorBytes& tensor : tensors) text += tensor.bytes();
    return text;
  }
  std::string bytes() const {
    std::string text = head();
    text.resize((text.size() + alignment - 1) / alignment * alignment);
    return text + std::string(data_bytes, '\x01');
  }
};

/// A key, the number of its type, and its value.
inline std::string gguf_value(std::string_view key, std::uint32_t type, const std::string& value) {
  return gguf_text(key) + raw(type) + value;
}
inline std::string gguf_array(std::uint32_t type, std::uint64_t count, const std::string& elements) {
  return raw(type) + raw(count) + elements;
}

}  // namespace precast::testing
