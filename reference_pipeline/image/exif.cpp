// Reads and writes the few EXIF tags used here. An EXIF block is a TIFF file: a header, then tables of
// 12-byte entries.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <image/exif.hpp>
#include <image/unicode.hpp>

namespace precast::image {
namespace {

namespace tag {
constexpr std::uint32_t make = 0x010f, model = 0x0110, orientation = 0x0112, exif_table = 0x8769,
                        user_comment = 0x9286;
}
namespace type {
constexpr std::uint32_t ascii = 2, u16 = 3, u32 = 4, undefined = 7;
}

constexpr std::size_t header_bytes = 8, entry_bytes = 12, most_entries = 1000, code_bytes = 8;
constexpr std::string_view unicode_code("UNICODE\0", code_bytes), ascii_code("ASCII\0\0\0", code_bytes);

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Reads numbers in the byte order of the block; nothing if out of bounds.
struct TagReader {
  std::span<const std::byte> block;
  bool upper_byte_first = false;

  std::optional<std::uint32_t> number(std::size_t at, std::size_t bytes) const {
    if (at > block.size() || bytes > block.size() - at) return std::nullopt;
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      const std::size_t from = upper_byte_first ? at + i : at + bytes - 1 - i;
      value = value << 8 | std::to_integer<std::uint32_t>(block[from]);
    }
    return value;
  }

  /// Calls `use` with each entry's tag, type and value; values that are out of bounds are empty.
  template <class Use>
  void for_each_entry(std::size_t table, Use&& use) const {
    const auto count = number(table, 2);
    if (!count) return;
    for (std::size_t i = 0; i < std::min<std::size_t>(*count, most_entries); ++i) {
      const std::size_t at = table + 2 + i * entry_bytes;
      const auto name = number(at, 2), kind = number(at + 2, 2), items = number(at + 4, 4);
      if (!name || !kind || !items || at + entry_bytes > block.size()) return;
      const std::uint64_t item_bytes = *kind == type::u16 ? 2 : *kind == type::u32 ? 4 : 1;
      const std::uint64_t bytes = item_bytes * *items;
      const std::size_t place = bytes <= 4 ? at + 8 : *number(at + 8, 4);
      const bool inside = place <= block.size() && bytes <= block.size() - place;
      use(*name, *kind,
          inside ? block.subspan(place, static_cast<std::size_t>(bytes)) : std::span<const std::byte>{},
          place);
    }
  }
};

constexpr std::string_view order_mark = "\ufeff";

/// Detects the byte order of UTF-16 in a little-endian block: the standard says
/// little-endian, but most programs always write big-endian. The upper bytes of Latin letters
/// are zero.
bool upper_comes_first(std::span<const std::byte> units) {
  std::size_t even = 0, odd = 0;
  for (std::size_t i = 0; i + 1 < units.size(); i += 2) {
    even += units[i] == std::byte{0};
    odd += units[i + 1] == std::byte{0};
  }
  return even >= odd;
}

std::optional<std::string> comment_text(std::span<const std::byte> value, bool block_has_upper_first) {
  if (value.size() <= code_bytes) return std::nullopt;
  const std::string_view code = as_text(value.first(code_bytes));
  const std::span<const std::byte> rest = value.subspan(code_bytes);
  std::string text;
  if (code == unicode_code) {
    text = utf8_from_utf16(rest, block_has_upper_first || upper_comes_first(rest));
    if (text.starts_with(order_mark)) text.erase(0, order_mark.size());
  } else if (code == ascii_code || code == std::string_view("\0\0\0\0\0\0\0\0", code_bytes)) {
    for (const std::int32_t point : code_points(as_text(rest))) append_utf8(text, point);
  } else {
    return std::nullopt;
  }
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

/// A text of ComfyUI with its label: "prompt:{…}".
std::optional<Text> labelled_text(std::span<const std::byte> value) {
  std::string_view text = as_text(value);
  text = text.substr(0, text.find('\0'));
  for (const std::string_view key : {"prompt", "workflow"})
    if (text.starts_with(key) && text.substr(key.size()).starts_with(":")) {
      std::string repaired;
      for (const std::int32_t point : code_points(text.substr(key.size() + 1))) append_utf8(repaired, point);
      return Text{std::string(key), std::move(repaired)};
    }
  return std::nullopt;
}

void append_number(std::vector<std::byte>& block, std::uint32_t value, std::size_t bytes) {
  for (std::size_t i = bytes; i-- > 0;) block.push_back(static_cast<std::byte>(value >> (8 * i) & 0xff));
}

/// An entry of a table to write; values of up to four bytes are stored in it.
struct Entry {
  std::uint32_t tag, type, count;
  std::vector<std::byte> value;

  std::size_t bytes_outside() const { return value.size() <= 4 ? 0 : value.size() + value.size() % 2; }
};

/// Appends a table, followed by the values that do not fit into its entries.
void append_table(std::vector<std::byte>& block, std::span<const Entry> entries) {
  std::size_t place = block.size() + 2 + entries.size() * entry_bytes + 4;
  append_number(block, static_cast<std::uint32_t>(entries.size()), 2);
  for (const Entry& entry : entries) {
    append_number(block, entry.tag, 2);
    append_number(block, entry.type, 2);
    append_number(block, entry.count, 4);
    if (entry.bytes_outside()) {
      append_number(block, static_cast<std::uint32_t>(place), 4);
    } else {
      block.insert(block.end(), entry.value.begin(), entry.value.end());
      append_number(block, 0, 4 - entry.value.size());
    }
    place += entry.bytes_outside();
  }
  append_number(block, 0, 4);  // no further table
  for (const Entry& entry : entries) {
    if (!entry.bytes_outside()) continue;
    block.insert(block.end(), entry.value.begin(), entry.value.end());
    if (entry.value.size() % 2) block.push_back(std::byte{0});
  }
}

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

const Text* with_key(std::span<const Text> texts, std::string_view key) {
  const auto found = std::ranges::find(texts, key, &Text::key);
  return found == texts.end() ? nullptr : &*found;
}

}  // namespace

int orientation_of(const Exif& exif, std::string_view xmp) {
  if (exif.orientation) return *exif.orientation;
  // An attribute or an element; an invalid value means no rotation.
  constexpr std::string_view name = "tiff:Orientation";
  for (std::size_t at = xmp.find(name); at != xmp.npos; at = xmp.find(name, at)) {
    at += name.size();
    std::string_view rest = xmp.substr(at);
    if (rest.starts_with("=\""))
      rest.remove_prefix(2);
    else if (rest.starts_with(">"))
      rest.remove_prefix(1);
    else
      continue;
    if (!rest.empty() && rest[0] >= '1' && rest[0] <= '8') return rest[0] - '0';
  }
  return upright;
}

Exif read_exif(std::span<const std::byte> block) {
  if (as_text(block).starts_with(exif_introduction)) block = block.subspan(exif_introduction.size());
  Exif result;
  const std::string_view header = as_text(block).substr(0, 4);
  const bool upper_byte_first = header == std::string_view("MM\0*", 4);
  if (!upper_byte_first && header != std::string_view("II*\0", 4)) return result;
  const TagReader reader{block, upper_byte_first};
  const auto first = reader.number(4, 4);
  if (!first) return result;
  std::optional<std::uint32_t> exif_table;
  bool has_make = false, has_model = false;
  reader.for_each_entry(*first, [&](std::uint32_t name, std::uint32_t kind, std::span<const std::byte> value,
                                    std::size_t place) {
    // The standard requires 16 bits; some programs write 32, and Pillow accepts both.
    const bool is_number =
        (kind == type::u16 && value.size() == 2) || (kind == type::u32 && value.size() == 4);
    if (name == tag::orientation && is_number) {
      const std::uint32_t wanted = *reader.number(place, value.size());
      result.orientation = wanted >= 1 && wanted <= 8 ? static_cast<int>(wanted) : upright;
    }
    if (name == tag::exif_table && kind == type::u32 && value.size() == 4)
      exif_table = reader.number(place, 4);
    // Only the first of each: in a damaged block a thousand entries may share one value.
    for (const auto& [wanted, seen] : {std::pair(tag::make, &has_make), {tag::model, &has_model}})
      if (name == wanted && !std::exchange(*seen, true))
        if (auto text = labelled_text(value)) result.texts.push_back(std::move(*text));
  });
  bool has_comment = false;
  if (exif_table)
    reader.for_each_entry(
        *exif_table, [&](std::uint32_t name, std::uint32_t, std::span<const std::byte> value, std::size_t) {
          if (name != tag::user_comment || std::exchange(has_comment, true)) return;
          if (auto text = comment_text(value, upper_byte_first))
            result.texts.push_back({"parameters", std::move(*text)});
        });
  return result;
}

std::vector<std::byte> exif_block(std::span<const Text> texts) {
  std::vector<Entry> entries;  // sorted by tag
  const auto add = [](std::vector<Entry>& to, std::uint32_t name, std::uint32_t kind,
                      std::vector<std::byte> value) {
    const auto count = static_cast<std::uint32_t>(value.size());
    to.push_back({name, kind, count, std::move(value)});
  };
  for (const auto& [name, key] : {std::pair(tag::make, "workflow"), std::pair(tag::model, "prompt")})
    if (const Text* text = with_key(texts, key))
      add(entries, name, type::ascii, bytes_of(std::string(key) + ":" + text->value + '\0'));
  const Text* parameters = with_key(texts, "parameters");
  if (entries.empty() && !parameters) return {};
  std::vector<std::byte> block = bytes_of(std::string_view("MM\0*", 4));
  append_number(block, header_bytes, 4);
  std::vector<Entry> inner;
  if (parameters) {
    std::vector<std::byte> comment = bytes_of(unicode_code);
    // Readers remove a leading byte order mark: a text that begins with one gets a second.
    const bool has_mark = parameters->value.starts_with(order_mark);
    const std::vector<std::byte> units =
        utf16_from_utf8((has_mark ? std::string(order_mark) : std::string()) + parameters->value);
    comment.insert(comment.end(), units.begin(), units.end());
    add(inner, tag::user_comment, type::undefined, std::move(comment));
    std::size_t place = header_bytes + 2 + (entries.size() + 1) * entry_bytes + 4;
    for (const Entry& entry : entries) place += entry.bytes_outside();
    std::vector<std::byte> link;
    append_number(link, static_cast<std::uint32_t>(place), 4);
    entries.push_back({tag::exif_table, type::u32, 1, std::move(link)});
  }
  append_table(block, entries);
  if (parameters) append_table(block, inner);
  return block;
}

}  // namespace precast::image
