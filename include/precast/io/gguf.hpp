// GgufFile: the tensors and values of a .gguf file, mapped, after its head was checked to the last byte.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <precast/io/counted.hpp>
#include <precast/io/gguf_cursor.hpp>
#include <precast/io/gguf_types.hpp>
#include <precast/io/gguf_value.hpp>
#include <precast/io/mapped_file.hpp>
#include <precast/io/named_tensor.hpp>
#include <precast/tensor/shape.hpp>

namespace precast::io {

/// A tensor in a file. `shape` is row-major, as everywhere here: the reverse of the file's order. `bytes`
/// lies in the map and lives as long as the file object; each row of a block type begins with a block.
struct GgufTensor {
  std::string name;
  GgufType type;
  Shape shape;
  std::span<const std::byte> bytes;
};

/// An open .gguf file of version 2 or 3
/// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). Opening reads the head only. Move only.
class GgufFile {
 public:
  static constexpr std::uint32_t most_dimensions = 4;
  static constexpr std::uint32_t usual_alignment = 32;

  /// Throws InputError where anything in the head does not hold: see the checks below.
  explicit GgufFile(const std::filesystem::path& path)
      : file_(path), shared_path_(std::make_shared<const std::filesystem::path>(path)) {
    static_assert(std::endian::native == std::endian::little,
                  "GGUF files are little endian: swap bytes first");
    detail::GgufCursor cursor(file_.path(), file_.bytes());
    read_version(cursor);
    const std::uint64_t tensors = cursor.count(least_tensor_bytes, "tensors");
    const std::uint64_t values = cursor.count(least_value_bytes, "values");
    for (std::uint64_t i = 0; i < values; ++i) read_value(cursor, i);
    std::ranges::sort(values_, {}, &GgufValue::key);
    refuse_duplicates(
        values_, [&](const GgufValue& v) { return v.key(); }, "key");
    read_alignment();
    std::vector<Place> places;
    for (std::uint64_t i = 0; i < tensors; ++i) places.push_back(read_tensor(cursor, i));
    set_bytes(places, cursor.position());
    std::ranges::sort(tensors_, {}, &GgufTensor::name);
    refuse_duplicates(
        tensors_, [](const GgufTensor& t) { return std::string_view(t.name); }, "tensor");
  }

  const std::filesystem::path& path() const { return file_.path(); }
  /// Lets go of the memory behind bytes that were read; they stay valid.
  void release_pages() const { file_.release_pages(); }
  /// 2 or 3.
  std::uint32_t version() const { return version_; }
  /// Tensors begin at multiples of so many bytes.
  std::uint32_t alignment() const { return alignment_; }
  /// All tensors, sorted by name.
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  /// All values, sorted by key.
  const std::vector<GgufValue>& values() const { return values_; }

  /// The tensor of that name, or nullptr.
  const GgufTensor* lookup(std::string_view name) const { return find_tensor(tensors_, name); }
  /// The tensor of that name. Throws InputError where it is missing.
  const GgufTensor& at(std::string_view name) const { return tensor_at(tensors_, name, path()); }
  /// The value of that key, or nullptr.
  const GgufValue* value(std::string_view key) const {
    const auto found = std::ranges::lower_bound(values_, key, {}, &GgufValue::key);
    return found != values_.end() && found->key() == key ? &*found : nullptr;
  }

 private:
  // An empty name, no dimension, type and offset; an empty key, a type and a byte.
  static constexpr std::size_t least_tensor_bytes = 8 + 4 + 4 + 8;
  static constexpr std::size_t least_value_bytes = 8 + 4 + 1;

  /// Where a tensor lies, as the file says.
  struct Place {
    std::uint64_t offset, bytes;
  };

  void read_version(detail::GgufCursor& cursor) {
    const auto magic = cursor.left() < 4 ? std::span<const std::byte>{} : cursor.bytes(4, "the magic");
    if (std::string_view(reinterpret_cast<const char*>(magic.data()), magic.size()) != "GGUF")
      throw file_error(path(),
                       "does not start with GGUF: this is not a GGUF file, or the download was cut off");
    version_ = cursor.number<std::uint32_t>("the version");
    if (version_ == 2 || version_ == 3) return;
    if (version_ != 0 && (version_ & 0xffff) == 0)
      throw file_error(path(),
                       "is big endian: convert it to little endian with gguf-py's gguf_convert_endian");
    throw file_error(path(), "is of GGUF version " + std::to_string(version_) +
                                 ", and only 2 and 3 are supported: convert it with ggml's own tools");
  }

  void read_value(detail::GgufCursor& cursor, std::uint64_t index) {
    const std::string_view key = cursor.text("the key of value " + std::to_string(index));
    if (key.empty())
      throw file_error(path(), "value " + std::to_string(index) + " has an empty key: get the file again");
    const std::string where = "key '" + printable(key) + "'";
    const GgufValueType type = cursor.value_type(where);
    values_.emplace_back(shared_path_, key, type, cursor.value(type, where));
  }

  void read_alignment() {
    const GgufValue* given = value("general.alignment");
    if (!given) return;
    if (given->type() != GgufValueType::u32)
      throw file_error(path(), "key 'general.alignment' must be u32, not " +
                                   std::string(gguf_value_name(given->type())) + ": get the file again");
    alignment_ = static_cast<std::uint32_t>(given->integer());
    if (!std::has_single_bit(alignment_))
      throw file_error(path(), "key 'general.alignment' is " + std::to_string(alignment_) +
                                   ", which is not a power of two: get the file again");
  }

  Place read_tensor(detail::GgufCursor& cursor, std::uint64_t index) {
    const std::string_view name = cursor.text("the name of tensor " + std::to_string(index));
    if (name.empty())
      throw file_error(path(), "tensor " + std::to_string(index) + " has an empty name: get the file again");
    const std::string where = "the description of tensor '" + printable(name) + "'";
    const auto rank = cursor.number<std::uint32_t>(where);
    if (rank > most_dimensions)
      throw tensor_error(
          path(), name,
          std::to_string(rank) + " dimensions, of which GGUF has at most 4: get the file again");
    std::vector<std::int64_t> sizes(rank);
    for (auto size = sizes.rbegin(); size != sizes.rend(); ++size) {
      const auto stated = cursor.number<std::uint64_t>(where);
      if (stated > static_cast<std::uint64_t>(Shape::max_elements))
        throw tensor_error(path(), name, "its shape overflows: get the file again");
      *size = static_cast<std::int64_t>(stated);
    }
    const GgufType type = known_type(name, cursor.number<std::uint32_t>(where));
    const auto offset = cursor.number<std::uint64_t>(where);
    const Shape shape = stated_shape(sizes, name, path());
    const auto in_block = static_cast<std::int64_t>(type.info.values_per_block);
    if (shape.back() % in_block != 0)
      throw tensor_error(path(), name,
                         "rows of " + std::to_string(shape.back()) + " values are not whole blocks of " +
                             gguf_name(type) + ", of " + std::to_string(in_block) + ": get the file again");
    const auto blocks = static_cast<std::uint64_t>(shape.elements() / in_block);
    const auto in_bytes = static_cast<std::uint64_t>(type.info.bytes_per_block);
    tensors_.push_back({std::string(name), type, shape, {}});
    return {offset, blocks * in_bytes};
  }

  GgufType known_type(std::string_view name, std::uint32_t number) const {
    if (const GgufType* type = gguf_type(number)) return *type;
    for (const auto& removed : detail::removed_gguf_types)
      if (removed.number == number)
        throw tensor_error(path(), name,
                           "type " + std::string(removed.name) + " (" + std::to_string(number) +
                               "), which ggml has removed: get a newer file of this model");
    throw tensor_error(path(), name,
                       "unknown type " + std::to_string(number) +
                           ": the file is broken, or newer than this program: get another type of it");
  }

  /// The data begins at the first multiple of the alignment behind the head. No two tensors share a byte;
  /// what lies between them, or behind the last, is nobody's.
  void set_bytes(std::span<const Place> places, std::size_t head) {
    const std::uint64_t aligned = (std::uint64_t{head} + alignment_ - 1) / alignment_ * alignment_;
    const auto begin = static_cast<std::size_t>(std::min<std::uint64_t>(aligned, file_.bytes().size()));
    const std::span<const std::byte> data = file_.bytes().subspan(begin);
    std::vector<std::size_t> order(places.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      order[i] = i;
      const Place& place = places[i];
      if (place.offset % alignment_ != 0)
        throw tensor_error(path(), tensors_[i].name,
                           "begins at byte " + std::to_string(place.offset) +
                               " of the data, which is not a multiple of the alignment, " +
                               std::to_string(alignment_) + ": get the file again");
      if (place.offset > data.size() || place.bytes > data.size() - place.offset)
        throw tensor_error(path(), tensors_[i].name,
                           counted(static_cast<std::int64_t>(place.bytes), "byte") + " from byte " +
                               std::to_string(place.offset) + " of the data leave its " +
                               counted(std::ssize(data), "byte") +
                               ": the download was cut off, get it again");
      tensors_[i].bytes =
          data.subspan(static_cast<std::size_t>(place.offset), static_cast<std::size_t>(place.bytes));
    }
    std::ranges::sort(order, {}, [&](std::size_t i) { return std::pair(places[i].offset, places[i].bytes); });
    std::uint64_t reached = 0;
    for (const std::size_t i : order) {
      if (places[i].bytes != 0 && places[i].offset < reached)
        throw tensor_error(path(), tensors_[i].name, "overlaps the tensor before it: get the file again");
      reached = std::max(reached, places[i].offset + places[i].bytes);
    }
  }

  template <class Items, class Name>
  void refuse_duplicates(const Items& items, Name&& name, const char* what) const {
    const auto duplicate = std::ranges::adjacent_find(items, {}, name);
    if (duplicate != items.end())
      throw file_error(path(), std::string(what) + " '" + printable(name(*duplicate)) +
                                   "' appears twice: get the file again");
  }

  MappedFile file_;
  std::shared_ptr<const std::filesystem::path> shared_path_;  // what errors of its values name
  std::uint32_t version_ = 0;
  std::uint32_t alignment_ = usual_alignment;
  std::vector<GgufTensor> tensors_;
  std::vector<GgufValue> values_;
};

}  // namespace precast::io
