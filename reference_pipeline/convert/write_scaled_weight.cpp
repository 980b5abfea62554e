// Codes are written as they are made, scales and the announcement after them.
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include <convert/scaled_weight.hpp>
#include <convert/write_scaled_weight.hpp>
#include <formats/encode_in_range.hpp>
#include <weights/swizzled_scales.hpp>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/quant/encode.hpp>
#include <precast/quant/largest_magnitude.hpp>
#include <precast/quant/scaled.hpp>

namespace precast::conversion {

namespace {

/// Values that are encoded between two writes, and by one task.
constexpr std::int64_t values_in_memory = std::int64_t{1} << 22, values_in_task = 65536;

/// A matrix to write, where its values come from and where its bytes go.
struct ScaledMatrix {
  const OutputTensor& tensor;
  const ScaledLayout& layout;
  const ReadValues& read;
  const OptionsOfRow& options;
  const WriteBytes& write;

  std::int64_t rows() const { return tensor.shape[0]; }
  std::int64_t columns() const { return tensor.shape[1]; }

  void write_numbers(std::span<const f32> numbers) const { write(std::as_bytes(numbers), 0); }
  void write_number(f32 number) const { write_numbers({&number, 1}); }

  /// Calls `encode(row, values, codes)` for each row, on all threads, and writes the codes.
  template <class Encode>
  void write_codes(Encode&& encode) const {
    const std::int64_t rows_at_once = std::max<std::int64_t>(1, values_in_memory / columns()),
                       in_task = std::max<std::int64_t>(1, values_in_task / columns()),
                       bytes_of_row = columns() / layout.values_in_byte;
    std::vector<std::byte> codes;
    for (std::int64_t first = 0; first < rows(); first += rows_at_once) {
      const std::int64_t some = std::min(rows_at_once, rows() - first);
      codes.resize(static_cast<std::size_t>(some * bytes_of_row));
      host::parallel_for(ceil_divide(some, in_task), [&](std::int64_t task) {
        static thread_local std::vector<f32> memory;
        const std::int64_t row = task * in_task, count = std::min(in_task, some - row);
        memory.resize(static_cast<std::size_t>(count * columns()));
        read((first + row) * columns(), memory);
        for (std::int64_t r = 0; r < count; ++r)
          encode(first + row + r,
                 std::span<const f32>(memory).subspan(static_cast<std::size_t>(r * columns()),
                                                      static_cast<std::size_t>(columns())),
                 std::span(codes).subspan(static_cast<std::size_t>((row + r) * bytes_of_row),
                                          static_cast<std::size_t>(bytes_of_row)));
      });
      write(codes, some * columns());
    }
  }
};

/// The scales of a matrix's blocks as they lie in the file, those of rows and blocks that it does not have 0.
struct ScaleBytes {
  weights::SwizzledScales places;
  std::vector<std::byte> bytes;

  explicit ScaleBytes(const ScaledMatrix& matrix)
      : places(matrix.rows(), matrix.columns() / matrix.layout.values_per_scale),
        bytes(static_cast<std::size_t>(places.shape().elements())) {}
  void set(std::int64_t row, std::int64_t block, std::uint8_t scale) {
    bytes[places.place(row, block)] = std::byte{scale};
  }
};

/// A row of a matrix in the input, where it lies as codes with scales beside them.
struct RowInFile {
  const weights::WeightTensor* weight;
  std::int64_t row;

  RowInFile(const OutputTensor& tensor, std::int64_t row_of_tensor) {
    const Piece piece = tensor.piece_at(row_of_tensor * tensor.shape[1]);
    weight = piece.from->decoded_by;
    row = piece.first / tensor.shape[1];
  }
  std::span<const std::byte> codes(const ScaledLayout& layout) const {
    const std::int64_t bytes = weight->shape[1] / layout.values_in_byte;
    return weight->stored->bytes.subspan(static_cast<std::size_t>(row * bytes),
                                         static_cast<std::size_t>(bytes));
  }
  std::byte scale(std::int64_t block, std::int64_t blocks) const {
    const weights::SwizzledScales places(weight->shape[0], blocks);
    return weight->decoding->codes->scales->bytes[places.place(row, block)];
  }
};

/// Writes the codes of rows as they lie, and gives their scales. Reads all values, too, which must be finite.
std::vector<f32> move_rows(const ScaledMatrix& matrix) {
  const OutputTensor& tensor = matrix.tensor;
  matrix.write_codes([&](std::int64_t row, std::span<const f32>, std::span<std::byte> codes) {
    std::ranges::copy(RowInFile(tensor, row).codes(matrix.layout), codes.begin());
  });
  if (matrix.layout.tensor_number == TensorNumber::scale) return {*number_of_all(tensor, matrix.layout)};
  std::vector<f32> scales;
  for (const Piece& piece : tensor.pieces) {
    const std::vector<f32> own = weights::values_of(*piece.from->decoded_by->decoding->codes->scales);
    const std::int64_t rows = piece.count / matrix.columns(), first = piece.first / matrix.columns();
    if (own.size() == 1)
      scales.insert(scales.end(), static_cast<std::size_t>(rows), own.front());
    else
      scales.insert(scales.end(), own.begin() + first, own.begin() + first + rows);
  }
  return scales;
}

/// Writes the codes of rows in blocks as they lie, and gives the bytes of their scales.
std::vector<std::byte> move_blocks(const ScaledMatrix& matrix) {
  const std::int64_t blocks = matrix.columns() / matrix.layout.values_per_scale;
  ScaleBytes scales(matrix);
  matrix.write_codes([&](std::int64_t row, std::span<const f32>, std::span<std::byte> codes) {
    const RowInFile from(matrix.tensor, row);
    std::ranges::copy(from.codes(matrix.layout), codes.begin());
    for (std::int64_t b = 0; b < blocks; ++b)
      scales.set(row, b, std::to_integer<std::uint8_t>(from.scale(b, blocks)));
  });
  return std::move(scales.bytes);
}

void move_codes(const ScaledMatrix& matrix) {
  if (matrix.layout.values_per_scale == 0) return matrix.write_numbers(move_rows(matrix));
  matrix.write(move_blocks(matrix), 0);
  if (matrix.layout.tensor_number == TensorNumber::scale_of_scales)
    matrix.write_number(*number_of_all(matrix.tensor, matrix.layout));
}

f32 largest_in(const ScaledMatrix& matrix) {
  const std::int64_t count = matrix.tensor.shape.elements();
  std::vector<f32> largest(static_cast<std::size_t>(ceil_divide(count, values_in_task)));
  host::parallel_for(std::ssize(largest), [&](std::int64_t task) {
    static thread_local std::vector<f32> memory;
    memory.resize(static_cast<std::size_t>(std::min(values_in_task, count - task * values_in_task)));
    matrix.read(task * values_in_task, memory);
    largest[static_cast<std::size_t>(task)] = quant::largest_magnitude(memory);
  });
  return quant::largest_magnitude(largest);
}

/// The scale of a tensor by the search, which reads it once for each of its rounds. Sums are those of rows,
/// as encode_rows has them.
template <ScaledCode Code>
f32 searched_scale_of(const ScaledMatrix& matrix, f32 reference) {
  return quant::search_scale<Code>(reference, [&](const auto& sums_of) {
    return quant::detail::sum_of_pieces(matrix.rows(), [&](std::int64_t row) {
      static thread_local std::vector<f32> memory;
      memory.resize(static_cast<std::size_t>(matrix.columns()));
      matrix.read(row * matrix.columns(), memory);
      return sums_of(std::span<const f32>(memory), matrix.options(row).importance);
    });
  });
}

template <ScaledRowDtype Format>
void write_rows(const ScaledMatrix& matrix) {
  using Code = scaled_code_of<Format>;
  constexpr bool one_scale = scale_of<Format> == ScaleOf::tensor;
  std::vector<f32> scales(one_scale ? 1 : static_cast<std::size_t>(matrix.rows()));
  if (one_scale) {
    f32& scale = scales.front();
    scale = quant::scale_for<Code>(largest_in(matrix));
    if (matrix.options(0).encoder == quant::Encoder::search) scale = searched_scale_of<Code>(matrix, scale);
  }
  matrix.write_codes([&](std::int64_t row, std::span<const f32> values, std::span<std::byte> bytes) {
    const std::span codes(reinterpret_cast<Code*>(bytes.data()), bytes.size());
    if (one_scale)
      quant::encode_under_scale<Code>(values, scales.front(), codes);
    else
      quant::detail::encode_scaled_rows<Code>(values, codes,
                                              std::span(scales).subspan(static_cast<std::size_t>(row), 1),
                                              matrix.options(row), values.size());
  });
  matrix.write_numbers(scales);
}

/// A row as blocks, in memory of this thread's.
template <BlockDtype Format>
std::span<const Format> blocks_of_row(std::span<const f32> values, const quant::EncodeOptions& options) {
  static thread_local std::vector<Format> blocks;
  blocks.resize(values.size() / dtype_traits<Format>::values_per_block);
  quant::encode<Format>(values, blocks, options);
  return blocks;
}

void write_mxfp8(const ScaledMatrix& matrix) {
  ScaleBytes scales(matrix);
  matrix.write_codes([&](std::int64_t row, std::span<const f32> values, std::span<std::byte> codes) {
    std::int64_t b = 0;
    for (const mxfp8& block : blocks_of_row<mxfp8>(values, matrix.options(row))) {
      std::memcpy(codes.data() + std::ssize(block.codes) * b, block.codes, sizeof block.codes);
      scales.set(row, b++, block.scale);
    }
  });
  matrix.write(scales.bytes, 0);
}

/// The number that all scales of e4m3 are multiplied by: the largest value then has the largest scale. It is
/// at least f32's least normal number, below which it would be rounded.
f32 scale_of_nvfp4(f32 largest) {
  return largest == 0 ? 1.0f : std::max(largest / formats::largest_nvfp4, std::numeric_limits<f32>::min());
}

/// Whether the input has all of a tensor in nvfp4, whose blocks can be moved as they are.
bool is_in_nvfp4(const OutputTensor& tensor) {
  return std::ranges::all_of(
      tensor.pieces, [](const Piece& piece) { return piece.from->type.name == dtype_traits<nvfp4>::name; });
}

/// A row of such a tensor.
std::span<const nvfp4> stored_row(const OutputTensor& tensor, std::int64_t row) {
  const std::int64_t columns = tensor.shape[1];
  const Piece piece = tensor.piece_at(row * columns);
  const std::byte* const bytes = piece.from->bytes.data() + bytes_of(piece.from->type, piece.first);
  return {reinterpret_cast<const nvfp4*>(bytes),
          static_cast<std::size_t>(columns / dtype_traits<nvfp4>::values_per_block)};
}

/// The codes of a group of ggml's block, in which the two values of a byte lie apart, with these next to each
/// other.
void write_pairs(const nvfp4& block, int group, std::span<std::byte> codes) {
  const auto code = [&](int i) {
    return static_cast<unsigned>(block.low[8 * group + i % 8]) >> (i < 8 ? 0 : 4) & 15u;
  };
  for (std::size_t pair = 0; pair < codes.size(); ++pair) {
    const int i = 2 * static_cast<int>(pair);
    codes[pair] = static_cast<std::byte>(code(i) << 4 | code(i + 1));
  }
}

void write_nvfp4(const ScaledMatrix& matrix) {
  const bool moved = is_in_nvfp4(matrix.tensor);
  const f32 whole = moved ? 1.0f : scale_of_nvfp4(largest_in(matrix));
  const auto row_of = [&](std::int64_t row, std::span<const f32> values) {
    if (moved) return stored_row(matrix.tensor, row);
    static thread_local std::vector<f32> divided;
    divided.assign(values.begin(), values.end());
    for (f32& value : divided) value /= whole;
    return blocks_of_row<nvfp4>(divided, matrix.options(row));
  };
  const auto bytes_in_group =
      static_cast<std::size_t>(matrix.layout.values_per_scale / matrix.layout.values_in_byte);
  ScaleBytes scales(matrix);
  matrix.write_codes([&](std::int64_t row, std::span<const f32> values, std::span<std::byte> codes) {
    std::int64_t group = 0;
    for (const nvfp4& block : row_of(row, values))
      for (int g = 0; g < static_cast<int>(std::ssize(block.scales)); ++g, ++group) {
        write_pairs(block, g,
                    codes.subspan(static_cast<std::size_t>(group) * bytes_in_group, bytes_in_group));
        scales.set(row, group, block.scales[g]);
      }
  });
  matrix.write(scales.bytes, 0);
  matrix.write_number(whole);
}

}  // namespace

void write_scaled(const OutputTensor& tensor, const ReadValues& read, const OptionsOfRow& options,
                  const WriteBytes& write) {
  const std::string_view type = tensor.chosen.type.name;
  const ScaledLayout layout = *scaled_layout(type);
  const ScaledMatrix matrix{tensor, layout, read, options, write};
  if (can_be_moved(tensor, layout))
    move_codes(matrix);
  else if (type == dtype_traits<mxfp8>::name)
    write_mxfp8(matrix);
  else if (type == dtype_traits<nvfp4>::name)
    write_nvfp4(matrix);
  else
    visit_scaled_row_dtype(type,
                           [&]<class Format>(std::type_identity<Format>) { write_rows<Format>(matrix); });
  const std::string text = announcement(layout);
  write(std::as_bytes(std::span(text)), 0);
}

}  // namespace precast::conversion
