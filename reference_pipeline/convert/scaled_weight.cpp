// Codes are written as they are made, scales and the announcement after them.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <convert/scaled_weight.hpp>
#include <weights/comfy_formats.hpp>
#include <weights/swizzled_scales.hpp>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/host/parallel.hpp>
#include <precast/quant/encode.hpp>
#include <precast/quant/largest_magnitude.hpp>
#include <precast/quant/scaled.hpp>

namespace precast::conversion {

namespace {

constexpr std::string_view weight_end = ".weight";
/// Values that are encoded between two writes.
constexpr std::int64_t values_in_memory = std::int64_t{1} << 22;

bool is_mxfp8(const DtypeInfo& type) { return type.name == dtype_traits<mxfp8>::name; }
bool is_nvfp4(const DtypeInfo& type) { return type.name == dtype_traits<nvfp4>::name; }

/// How a format is announced, and what its codes are for safetensors.
weights::ComfyFormat announced_as(const DtypeInfo& type) {
  if (is_mxfp8(type)) return weights::comfy_mxfp8;
  if (is_nvfp4(type)) return weights::comfy_nvfp4;
  weights::ComfyFormat format;
  visit_scaled_row_dtype(type.name, [&]<class Format>(std::type_identity<Format>) {
    format = *weights::comfy_row_format_of(weights::code_info<scaled_code_of<Format>>());
  });
  return format;
}
/// Whether it has one scale for the tensor.
bool has_one_scale(const DtypeInfo& type) {
  bool one = false;
  visit_scaled_row_dtype(type.name, [&]<class Format>(std::type_identity<Format>) {
    one = scale_of<Format> == ScaleOf::tensor;
  });
  return one;
}

std::string announcement(const DtypeInfo& type) {
  return "{\"format\": \"" + std::string(announced_as(type).announced) + "\"}";
}

/// Calls `encode(row, values, codes)` for each row, on all threads, and writes the codes: a byte for each
/// value, or for `values_in_byte` of them.
template <class Encode>
void write_codes(const OutputTensor& tensor, const ReadValues& read, const WriteBytes& write, Encode&& encode,
                 std::int64_t values_in_byte = 1) {
  const std::int64_t rows = tensor.shape[0], columns = tensor.shape[1];
  const std::int64_t rows_at_once = std::max<std::int64_t>(1, values_in_memory / columns),
                     in_task = std::max<std::int64_t>(1, 65536 / columns),
                     bytes_of_row = columns / values_in_byte;
  std::vector<std::byte> codes;
  for (std::int64_t first = 0; first < rows; first += rows_at_once) {
    const std::int64_t some = std::min(rows_at_once, rows - first);
    codes.resize(static_cast<std::size_t>(some * bytes_of_row));
    host::parallel_for(ceil_divide(some, in_task), [&](std::int64_t task) {
      static thread_local std::vector<f32> memory;
      const std::int64_t row = task * in_task, count = std::min(in_task, some - row);
      memory.resize(static_cast<std::size_t>(count * columns));
      read((first + row) * columns, memory);
      for (std::int64_t r = 0; r < count; ++r)
        encode(first + row + r,
               std::span<const f32>(memory).subspan(static_cast<std::size_t>(r * columns),
                                                    static_cast<std::size_t>(columns)),
               std::span(codes).subspan(static_cast<std::size_t>((row + r) * bytes_of_row),
                                        static_cast<std::size_t>(bytes_of_row)));
    });
    write(codes, some * columns);
  }
}

/// Where a row of a tensor lies in the input, among codes with scales beside them.
struct RowInFile {
  const weights::WeightTensor* weight;
  std::int64_t row;

  /// Its codes, a byte for each value or for `values_in_byte` of them.
  std::span<const std::byte> codes(std::int64_t values_in_byte = 1) const {
    const std::int64_t bytes = weight->shape[1] / values_in_byte;
    return weight->stored->bytes.subspan(static_cast<std::size_t>(row * bytes),
                                         static_cast<std::size_t>(bytes));
  }
  std::byte scale(std::int64_t block, std::int64_t blocks) const {
    return weight->codes.scales->bytes[weights::SwizzledScales(weight->shape[0], blocks).place(row, block)];
  }
};
RowInFile row_in_file(const OutputTensor& tensor, std::int64_t row) {
  const Piece piece = tensor.piece_at(row * tensor.shape[1]);
  return {piece.from->scaled, piece.first / tensor.shape[1]};
}

/// The one number of a tensor, where all pieces have one and the same beside them.
template <class EntryOf>
std::optional<f32> number_of_all(const OutputTensor& tensor, EntryOf&& entry_of) {
  std::optional<f32> of_all;
  for (const Piece& piece : tensor.pieces) {
    const io::TensorEntry& entry = *entry_of(piece.from->scaled->codes);
    if (entry.shape.elements() != 1) return std::nullopt;
    const f32 own = weights::values_of(entry).front();
    if (of_all && std::bit_cast<std::uint32_t>(*of_all) != std::bit_cast<std::uint32_t>(own))
      return std::nullopt;
    of_all = own;
  }
  return of_all;
}
std::optional<f32> scale_of_all(const OutputTensor& tensor) {
  return number_of_all(tensor, [](const weights::StoredCodes& codes) { return codes.scales; });
}
std::optional<f32> scale_of_all_scales(const OutputTensor& tensor) {
  return number_of_all(tensor, [](const weights::StoredCodes& codes) { return codes.of_scales; });
}

/// Whether all of a tensor lies in its format.
bool lies_in_format(const OutputTensor& tensor) {
  return std::ranges::all_of(tensor.pieces, [&](const Piece& piece) {
    const weights::WeightTensor* const weight = piece.from->scaled;
    return weight && weight->codes.announced == announced_as(tensor.chosen.type).announced &&
           weight->shape.rank() == 2 && weight->shape[1] == tensor.shape[1];
  });
}
/// Whether all of a tensor lies under scales that it can have: its codes are moved then, which others would
/// be where another program chose the scales.
bool can_be_moved(const OutputTensor& tensor) {
  const DtypeInfo& type = tensor.chosen.type;
  return lies_in_format(tensor) && (!has_one_scale(type) || scale_of_all(tensor)) &&
         (!is_nvfp4(type) || scale_of_all_scales(tensor));
}

f32 largest_in(const OutputTensor& tensor, const ReadValues& read) {
  constexpr std::int64_t in_task = 65536;
  const std::int64_t count = tensor.shape.elements();
  std::vector<f32> largest(static_cast<std::size_t>(ceil_divide(count, in_task)));
  host::parallel_for(std::ssize(largest), [&](std::int64_t task) {
    static thread_local std::vector<f32> memory;
    memory.resize(static_cast<std::size_t>(std::min(in_task, count - task * in_task)));
    read(task * in_task, memory);
    largest[static_cast<std::size_t>(task)] = quant::largest_magnitude(memory);
  });
  return quant::largest_magnitude(largest);
}

/// The scale of a tensor by the search, which reads it once for each of its rounds. Sums are those of rows,
/// as encode_rows has them.
template <ScaledCode Code>
f32 searched_scale_of(const OutputTensor& tensor, const ReadValues& read, const OptionsOfRow& options,
                      f32 reference) {
  const std::int64_t columns = tensor.shape[1];
  return quant::search_scale<Code>(reference, [&](const auto& sums_of) {
    return quant::detail::sum_of_pieces(tensor.shape[0], [&](std::int64_t row) {
      static thread_local std::vector<f32> memory;
      memory.resize(static_cast<std::size_t>(columns));
      read(row * columns, memory);
      return sums_of(std::span<const f32>(memory), options(row).importance);
    });
  });
}

/// Reads all values, too, which must be finite.
std::vector<f32> move_rows(const OutputTensor& tensor, const ReadValues& read, const WriteBytes& write) {
  write_codes(tensor, read, write, [&](std::int64_t row, std::span<const f32>, std::span<std::byte> codes) {
    std::ranges::copy(row_in_file(tensor, row).codes(), codes.begin());
  });
  if (has_one_scale(tensor.chosen.type)) return {*scale_of_all(tensor)};
  std::vector<f32> scales;
  for (const Piece& piece : tensor.pieces) {
    const std::vector<f32> own = weights::values_of(*piece.from->scaled->codes.scales);
    const std::int64_t rows = piece.count / tensor.shape[1], first = piece.first / tensor.shape[1];
    if (own.size() == 1)
      scales.insert(scales.end(), static_cast<std::size_t>(rows), own.front());
    else
      scales.insert(scales.end(), own.begin() + first, own.begin() + first + rows);
  }
  return scales;
}

template <ScaledRowDtype Format>
std::vector<f32> write_rows(const OutputTensor& tensor, const ReadValues& read, const OptionsOfRow& options,
                            const WriteBytes& write) {
  using Code = scaled_code_of<Format>;
  constexpr bool one_scale = scale_of<Format> == ScaleOf::tensor;
  std::vector<f32> scales(one_scale ? 1 : static_cast<std::size_t>(tensor.shape[0]));
  if (one_scale) {
    f32& scale = scales.front();
    scale = quant::scale_for<Code>(largest_in(tensor, read));
    if (options(0).encoder == quant::Encoder::search)
      scale = searched_scale_of<Code>(tensor, read, options, scale);
  }
  write_codes(
      tensor, read, write, [&](std::int64_t row, std::span<const f32> values, std::span<std::byte> bytes) {
        const std::span codes(reinterpret_cast<Code*>(bytes.data()), bytes.size());
        if (one_scale)
          quant::encode_under_scale<Code>(values, scales.front(), codes);
        else
          quant::detail::encode_scaled_rows<Code>(values, codes,
                                                  std::span(scales).subspan(static_cast<std::size_t>(row), 1),
                                                  options(row), values.size());
      });
  return scales;
}

/// The scales of a matrix as they lie in the file, those of rows and blocks that it does not have 0.
struct ScaleBytes {
  weights::SwizzledScales places;
  std::vector<std::byte> bytes;

  ScaleBytes(std::int64_t rows, std::int64_t blocks)
      : places(rows, blocks), bytes(static_cast<std::size_t>(places.shape().elements())) {}
  void set(std::int64_t row, std::int64_t block, std::uint8_t scale) {
    bytes[places.place(row, block)] = std::byte{scale};
  }
};

/// The same of codes and scales in blocks of `in_block` values.
std::vector<std::byte> move_blocks(const OutputTensor& tensor, const ReadValues& read,
                                   const WriteBytes& write, std::int64_t in_block,
                                   std::int64_t values_in_byte) {
  const std::int64_t blocks = tensor.shape[1] / in_block;
  ScaleBytes scales(tensor.shape[0], blocks);
  write_codes(
      tensor, read, write,
      [&](std::int64_t row, std::span<const f32>, std::span<std::byte> codes) {
        const RowInFile from = row_in_file(tensor, row);
        std::ranges::copy(from.codes(values_in_byte), codes.begin());
        for (std::int64_t b = 0; b < blocks; ++b)
          scales.set(row, b, std::to_integer<std::uint8_t>(from.scale(b, blocks)));
      },
      values_in_byte);
  return std::move(scales.bytes);
}

/// A row as blocks, in memory of this thread's.
template <BlockDtype Format>
std::span<const Format> blocks_of_row(std::span<const f32> values, const quant::EncodeOptions& options) {
  static thread_local std::vector<Format> blocks;
  blocks.resize(values.size() / dtype_traits<Format>::values_per_block);
  quant::encode<Format>(values, blocks, options);
  return blocks;
}

std::vector<std::byte> write_mxfp8(const OutputTensor& tensor, const ReadValues& read,
                                   const OptionsOfRow& options, const WriteBytes& write) {
  ScaleBytes scales(tensor.shape[0], tensor.shape[1] / 32);
  write_codes(tensor, read, write,
              [&](std::int64_t row, std::span<const f32> values, std::span<std::byte> codes) {
                std::int64_t b = 0;
                for (const mxfp8& block : blocks_of_row<mxfp8>(values, options(row))) {
                  std::memcpy(codes.data() + 32 * b, block.codes, 32);
                  scales.set(row, b++, block.scale);
                }
              });
  return std::move(scales.bytes);
}

/// What all scales of e4m3 are multiplied by: then the largest value's is the largest of them. Nothing below
/// f32's normal numbers, which would round it.
f32 scale_of_nvfp4(f32 largest) {
  return largest == 0 ? 1.0f : std::max(largest / largest_nvfp4, std::numeric_limits<f32>::min());
}

/// Whether the input has all of a tensor in nvfp4, whose blocks can be moved as they are.
bool lies_in_nvfp4(const OutputTensor& tensor) {
  return std::ranges::all_of(tensor.pieces, [](const Piece& piece) { return is_nvfp4(piece.from->type); });
}

/// A row of such a tensor.
std::span<const nvfp4> stored_row(const OutputTensor& tensor, std::int64_t row) {
  const std::int64_t columns = tensor.shape[1];
  const Piece piece = tensor.piece_at(row * columns);
  const std::byte* const bytes = piece.from->bytes.data() + bytes_of(piece.from->type, piece.first);
  return {reinterpret_cast<const nvfp4*>(bytes), static_cast<std::size_t>(columns / 64)};
}

/// ggml's blocks, in which the two values of a byte lie apart, with these next to each other. `row_of(row,
/// values)` gives those of a row.
template <class RowOf>
std::vector<std::byte> write_nvfp4(const OutputTensor& tensor, const ReadValues& read, RowOf&& row_of,
                                   const WriteBytes& write) {
  ScaleBytes scales(tensor.shape[0], tensor.shape[1] / 16);
  write_codes(
      tensor, read, write,
      [&](std::int64_t row, std::span<const f32> values, std::span<std::byte> codes) {
        std::int64_t group = 0;
        for (const nvfp4& block : row_of(row, values))
          for (int g = 0; g < 4; ++g, ++group) {
            const auto code = [&](int i) {
              return static_cast<unsigned>(block.low[8 * g + i % 8]) >> (i < 8 ? 0 : 4) & 15u;
            };
            for (int i = 0; i < 16; i += 2)
              codes[static_cast<std::size_t>(8 * group + i / 2)] =
                  static_cast<std::byte>(code(i) << 4 | code(i + 1));
            scales.set(row, group, block.scales[g]);
          }
      },
      2);
  return std::move(scales.bytes);
}

}  // namespace

bool is_scaled(const DtypeInfo& type, Container container) {
  return container == Container::safetensors &&
         (is_mxfp8(type) || is_nvfp4(type) || visit_scaled_row_dtype(type.name, [](auto) {}));
}

bool can_be_scaled(const DtypeInfo& type, const std::string& name, const Shape& shape) {
  return shape.rank() == 2 && shape.elements() > 0 && name.ends_with(weight_end) &&
         (!is_mxfp8(type) || (casting::has_whole_tiles(type, shape) && shape[1] % 32 == 0)) &&
         (!is_nvfp4(type) || (shape[0] % 16 == 0 && shape[1] % 64 == 0));
}

std::string what_can_be_scaled(std::string_view type) {
  return std::string("matrices of layers") +
         (type == dtype_traits<mxfp8>::name   ? " in tiles of 32 rows and 32 columns"
          : type == dtype_traits<nvfp4>::name ? " in tiles of 16 rows and 64 columns"
                                              : "");
}

bool needs_new_scales(const OutputTensor& tensor, Container container) {
  return is_scaled(tensor.chosen.type, container) && lies_in_format(tensor) && !can_be_moved(tensor);
}

std::int64_t bytes_in(const OutputTensor& tensor, Container container) {
  const DtypeInfo& type = tensor.chosen.type;
  if (!is_scaled(type, container)) return bytes_of(type, tensor.shape.elements());
  constexpr std::int64_t number = sizeof(f32);
  const std::int64_t rows = tensor.shape[0], columns = tensor.shape[1], codes = rows * columns;
  const auto scales = [&](std::int64_t in_block) {
    return weights::SwizzledScales(rows, columns / in_block).shape().elements();
  };
  if (is_mxfp8(type)) return codes + scales(32);
  if (is_nvfp4(type)) return codes / 2 + scales(16) + number;
  return codes + (has_one_scale(type) ? number : number * rows);
}

void declare_scaled(io::SafetensorsWriter& writer, const OutputTensor& tensor) {
  const DtypeInfo& type = tensor.chosen.type;
  const std::string layer = tensor.name.substr(0, tensor.name.size() - weight_end.size());
  const std::int64_t rows = tensor.shape[0], columns = tensor.shape[1];
  writer.declare(tensor.name, announced_as(type).codes, Shape{rows, is_nvfp4(type) ? columns / 2 : columns});
  const DtypeInfo byte{"u8", 1, 1};
  const auto scales = [&](const DtypeInfo& dtype, std::int64_t in_block) {
    writer.declare(layer + ".weight_scale", dtype, weights::SwizzledScales(rows, columns / in_block).shape());
  };
  if (is_mxfp8(type)) {
    scales(byte, 32);
  } else if (is_nvfp4(type)) {
    scales(dtype_info<fp8_e4m3>, 16);
    writer.declare(layer + ".weight_scale_2", dtype_info<f32>, Shape{});
  } else {
    writer.declare(layer + ".weight_scale", dtype_info<f32>, has_one_scale(type) ? Shape{} : Shape{rows, 1});
  }
  writer.declare(layer + ".comfy_quant", byte, Shape{std::ssize(announcement(type))});
}

void write_scaled(const OutputTensor& tensor, const ReadValues& read, const OptionsOfRow& options,
                  const WriteBytes& write) {
  const DtypeInfo& type = tensor.chosen.type;
  const bool moved_codes = can_be_moved(tensor);
  if (is_mxfp8(type)) {
    write(moved_codes ? move_blocks(tensor, read, write, 32, 1) : write_mxfp8(tensor, read, options, write),
          0);
  } else if (is_nvfp4(type) && moved_codes) {
    write(move_blocks(tensor, read, write, 16, 2), 0);
    const f32 whole = *scale_of_all_scales(tensor);
    write(std::as_bytes(std::span(&whole, 1)), 0);
  } else if (is_nvfp4(type)) {
    const bool moved = lies_in_nvfp4(tensor);
    const f32 whole = moved ? 1.0f : scale_of_nvfp4(largest_in(tensor, read));
    const auto row_of = [&](std::int64_t row, std::span<const f32> values) {
      if (moved) return stored_row(tensor, row);
      static thread_local std::vector<f32> divided;
      divided.assign(values.begin(), values.end());
      for (f32& value : divided) value /= whole;
      return blocks_of_row<nvfp4>(divided, options(row));
    };
    write(write_nvfp4(tensor, read, row_of, write), 0);
    write(std::as_bytes(std::span(&whole, 1)), 0);
  } else {
    visit_scaled_row_dtype(type.name, [&]<class Format>(std::type_identity<Format>) {
      const std::vector<f32> scales =
          moved_codes ? move_rows(tensor, read, write) : write_rows<Format>(tensor, read, options, write);
      write(std::as_bytes(std::span(scales)), 0);
    });
  }
  const std::string text = announcement(type);
  write(std::as_bytes(std::span(text)), 0);
}

}  // namespace precast::conversion
