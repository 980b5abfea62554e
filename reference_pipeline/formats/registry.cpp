// One list of Precast's own formats and added ones.
#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include <formats/of_dtype.hpp>
#include <formats/registry.hpp>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/error.hpp>
#include <precast/host/blocks/block_decoder.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/io/joined.hpp>
#include <precast/quant/by_name.hpp>
#include <precast/quant/scaled_rows.hpp>

namespace precast::formats {

void detail::for_pieces(std::size_t values,
                        const std::function<void(std::size_t first, std::size_t count)>& work) {
  const auto count = static_cast<std::int64_t>(values);
  host::parallel_for(ceil_divide(count, values_at_once), [&](std::int64_t task) {
    const std::int64_t first = task * values_at_once;
    work(static_cast<std::size_t>(first), static_cast<std::size_t>(std::min(values_at_once, count - first)));
  });
}

namespace {

/// Inserts in order of falling bits, and of insertion where bits are equal.
void insert(std::vector<StoredFormat>& formats, StoredFormat&& format) {
  const auto place =
      std::ranges::find_if(formats, [&](const StoredFormat& f) { return f.bits < format.bits; });
  formats.insert(place, std::move(format));
}

/// A block format of Precast's own: its decoder is the one that kernels/ compiles, where PRECAST_QUANT has
/// it.
template <BlockDtype Format>
StoredFormat of_listed() {
  StoredFormat format = facts_of<Format>();
  format.holds_f16_range = true;  // by its scales
  format.decode = [](std::span<const std::byte> bytes, std::span<f32> values) {
    quant::decode(dtype_traits<Format>::name, bytes, values);
  };
  format.encode = &detail::encode_values<Format>;
  if constexpr (std::is_same_v<Format, mxfp8>) format.tile_rows = format.tile_columns = 32;
  if constexpr (std::is_same_v<Format, nvfp4>) format.tile_rows = 16, format.tile_columns = 64;
  return format;
}

/// Rows under scales: how many columns they have follows from the bytes, of which each row has
/// row_head_bytes before its codes.
template <ScaledRowDtype Format>
std::size_t columns_in(std::size_t values, std::size_t bytes) {
  const std::size_t rows = (bytes - values) / static_cast<std::size_t>(row_head_bytes);
  if (bytes < values || rows == 0 || values % rows != 0 ||
      bytes != values + rows * std::size_t{row_head_bytes})
    throw ShapeError(std::string(dtype_traits<Format>::name) + ": " + std::to_string(values) +
                     " values do not take " + std::to_string(bytes) + " bytes");
  return values / rows;
}

template <ScaledRowDtype Format>
StoredFormat of_rows() {
  StoredFormat format = facts_of<Format>();
  format.bits = 8;  // and the scale, of which a row has one
  format.of_rows = true;
  format.holds_f16_range = true;
  format.decode = [](std::span<const std::byte> bytes, std::span<f32> values) {
    if (values.empty()) return;
    const auto columns = static_cast<std::int64_t>(columns_in<Format>(values.size(), bytes.size()));
    const auto decode = host::rows_decoder<f32>(dtype_traits<Format>::name);
    host::parallel_for(std::ssize(values) / columns, [&](std::int64_t row) {
      decode({bytes.data() + row * (row_head_bytes + columns), 0}, 1, 0, columns,
             values.data() + row * columns, 0);
    });
  };
  format.encode = [](std::span<const f32> values, std::span<std::byte> bytes,
                     const quant::EncodeOptions& options) {
    if (!values.empty())
      quant::encode_rows<Format>(values, columns_in<Format>(values.size(), bytes.size()), bytes, options);
  };
  return format;
}

template <class... Entries>
void insert_listed(std::vector<StoredFormat>& formats, BlockFormatList<Entries...>) {
  for (StoredFormat (*const made)() : {&of_listed<typename Entries::format>...}) insert(formats, made());
}

struct Lists {
  std::vector<StoredFormat> all, added;

  Lists() { collect(); }

  void collect() {
    all.clear();
    any_dtype(ScalarDtypes{}, [&]<class T>() {
      if constexpr (in_files<T>) insert(all, of_dtype<T>());
      return false;
    });
    insert_listed(all, BlockFormats{});
    any_scaled_row_dtype([&]<class Format>(std::type_identity<Format>) {
      insert(all, of_rows<Format>());
      return false;
    });
    for (const StoredFormat& format : added) insert(all, StoredFormat(format));
  }
};

/// Made at the first call, which may be by a registration before main.
Lists& lists() {
  static Lists all;
  return all;
}

bool same_in_either_case(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

/// Whether Precast has a scalar or an element of blocks of that name, one that files do not hold too.
bool is_own_scalar(std::string_view name) {
  const auto has_it = [&]<class T>() { return same_in_either_case(dtype_traits<T>::name, name); };
  return any_dtype(ScalarDtypes{}, has_it) || any_dtype(BlockElements{}, has_it);
}

io::FileDtype file_dtype_of(const StoredFormat& format) {
  if (format_in_either_case(format.name) || is_own_scalar(format.name))
    throw Error("number format '" + format.name +
                "' already exists: give the dtype that is registered another name in its dtype_traits");
  return {.file_name = format.file_name, .info = format.info, .is_float = true};
}

}  // namespace

const std::vector<StoredFormat>& all_formats() { return lists().all; }
const std::vector<StoredFormat>& added_formats() { return lists().added; }

bool is_added(const DtypeInfo& type) {
  return std::ranges::find(added_formats(), type.name, &StoredFormat::name) != added_formats().end();
}

std::string format_list() { return io::joined(all_formats(), ", ", &StoredFormat::name); }

const StoredFormat* format_named(std::string_view name) {
  const auto found = std::ranges::find(lists().all, name, &StoredFormat::name);
  return found == lists().all.end() ? nullptr : &*found;
}

const StoredFormat* format_in_either_case(std::string_view name) {
  for (const StoredFormat& format : lists().all)
    if (same_in_either_case(format.name, name)) return &format;
  return nullptr;
}

std::optional<DtypeInfo> find_type(std::string_view name) {
  const StoredFormat* const found = format_in_either_case(name);
  return found ? std::optional(found->info) : std::nullopt;
}

AddedFormat::AddedFormat(StoredFormat format) : name_(format.name), in_files_(file_dtype_of(format)) {
  lists().added.push_back(std::move(format));
  lists().collect();
}

AddedFormat::~AddedFormat() {
  std::erase_if(lists().added, [&](const StoredFormat& format) { return format.name == name_; });
  lists().collect();
}

}  // namespace precast::formats
