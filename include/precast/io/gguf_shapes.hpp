// GgufShapes: the shapes of tensors that ComfyUI-GGUF's tools stored in rows of 256 values.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <precast/io/gguf.hpp>
#include <precast/io/message.hpp>
#include <precast/tensor/shape.hpp>

namespace precast::io {

/// Finds a tensor's shape beside it: `comfy.gguf.orig_shape.NAME` is an array, or "a, b"; in the oldest files
/// `comfy.gguf.tensor_fixup` has a line "NAME a b" for each. Some files lost both on their way through other
/// tools: a matrix in rows of 256 has the rows of its bias then.
class GgufShapes {
 public:
  /// `values` has what is said of the tensors of `file`, which may be a part of a model that begins there.
  /// Both must outlive it. Throws InputError for a tensor_fixup that is not such lines.
  GgufShapes(const GgufFile& file, const GgufFile& values) : file_(file), values_(values) {
    const GgufValue* const given = values_.value(fixup_key);
    if (!given) return;
    std::string_view text = given->type() == GgufValueType::string ? given->text() : bad_fixup;
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(line.size() + 1, text.size()));
      const std::size_t name_end = std::min(line.find(' '), line.size());
      std::vector<std::int64_t> sizes = sizes_in(line.substr(name_end), "");
      if (name_end == 0 || sizes.empty())
        throw file_error(values_.path(),
                         "key '" + std::string(fixup_key) +
                             "' must be lines of a tensor's name and its sizes: get the file again");
      fixups_[std::string(line.substr(0, name_end))] = std::move(sizes);
    }
  }

  /// The shape that a tensor of the file had before it was stored. Throws InputError where what is said of it
  /// is no shape, or one of another number of values.
  Shape of(const GgufTensor& tensor) const {
    const std::string key = "comfy.gguf.orig_shape." + tensor.name;
    if (const GgufValue* given = values_.value(key))
      return checked(
          tensor, key,
          given->type() == GgufValueType::string ? sizes_in(given->text(), ",") : given->integers());
    if (const auto found = fixups_.find(tensor.name); found != fixups_.end())
      return checked(tensor, std::string(fixup_key), found->second);
    return with_rows_of_bias(tensor);
  }

 private:
  static constexpr std::string_view fixup_key = "comfy.gguf.tensor_fixup", bad_fixup = " ";
  static constexpr std::int64_t stored_columns = 256;

  Shape checked(const GgufTensor& tensor, const std::string& key, std::span<const std::int64_t> sizes) const {
    try {
      if (const Shape shape{sizes}; !sizes.empty() && shape.elements() == tensor.shape.elements())
        return shape;
    } catch (const ShapeError&) {  // said below, with the key
    }
    throw file_error(values_.path(), "key '" + printable(key) + "' must be " +
                                         std::to_string(Shape::max_rank) + " sizes at most, of the " +
                                         std::to_string(tensor.shape.elements()) + " values of '" +
                                         printable(tensor.name) + "' in all: get the file again");
  }

  Shape with_rows_of_bias(const GgufTensor& tensor) const {
    constexpr std::string_view weight = "weight";
    const Shape& stored = tensor.shape;
    if (stored.rank() != 2 || stored[1] != stored_columns || !tensor.name.ends_with(weight)) return stored;
    const GgufTensor* const bias =
        file_.lookup(tensor.name.substr(0, tensor.name.size() - weight.size()) + "bias");
    if (!bias || bias->shape.rank() != 1) return stored;
    const std::int64_t rows = bias->shape[0];
    if (rows == 0 || stored.elements() % rows != 0) return stored;
    return {rows, stored.elements() / rows};
  }

  /// The whole numbers of a text, which spaces and `comma` part; none where anything else stands there.
  static std::vector<std::int64_t> sizes_in(std::string_view text, std::string_view comma) {
    std::vector<std::int64_t> sizes;
    while (true) {
      while (text.starts_with(' ')) text.remove_prefix(1);
      std::int64_t size = 0;
      const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), size);
      if (failed != std::errc{}) return {};
      sizes.push_back(size);
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
      if (text.empty()) return sizes;
      if (!text.starts_with(comma.empty() ? " " : comma)) return {};
      text.remove_prefix(comma.size());
    }
  }

  const GgufFile &file_, &values_;
  std::map<std::string, std::vector<std::int64_t>, std::less<>> fixups_;
};

}  // namespace precast::io
