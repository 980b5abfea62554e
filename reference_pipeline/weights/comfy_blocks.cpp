// Blocks of mxfp8 and nvfp4 with swizzled scales, as ComfyUI stores them.
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include <weights/comfy_formats.hpp>
#include <weights/comfy_parts.hpp>
#include <weights/swizzled_scales.hpp>

#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/io/counted.hpp>
#include <precast/policy/quant_formats.hpp>
#include <precast/tensor/rounded_up.hpp>

namespace precast::weights {

namespace {

/// A matrix in blocks along its rows, each with a one-byte scale in swizzled order.
struct SwizzledBlocks {
  const io::TensorEntry* stored;
  const io::TensorEntry* scales;
  std::int64_t rows, columns, in_block;

  std::int64_t blocks() const { return ceil_divide(columns, in_block); }
  SwizzledScales places() const { return {rows, blocks()}; }
  void check(const Companions& companions, const std::string& layer) const {
    const std::int64_t expected = places().shape().elements();
    if (scales->dtype.info.values_per_block != 1 || scales->dtype.info.bytes_per_block != 1)
      throw companions.error(layer + ".weight", "its scales are " + std::string(scales->dtype.file_name) +
                                                    " where bytes are expected: get the file again");
    if (std::ssize(scales->bytes) != expected)
      throw companions.error(layer + ".weight",
                             "its scales take " + io::counted(std::ssize(scales->bytes), "byte") + " where " +
                                 std::to_string(expected) + " are expected: get the file again");
  }
  /// Calls body(place, row) for each row of values that begin at value `from`.
  void for_values(std::span<f32> values, std::int64_t from,
                  const std::function<void(std::int64_t, std::span<f32>)>& body) const {
    for_rows_in(values, columns, [&](std::int64_t first, std::int64_t count, std::span<f32> here) {
      for (std::int64_t r = 0; r < count; ++r)
        body(from + (first + r) * columns,
             here.subspan(static_cast<std::size_t>(r * columns), static_cast<std::size_t>(columns)));
    });
  }
  std::byte scale(std::int64_t row, std::int64_t block) const {
    return scales->bytes[places().place(row, block)];
  }
};

f32 from_e8m0(std::byte code) {
  if (code == std::byte{255}) return std::nanf("");
  return std::ldexp(1.0f, static_cast<int>(code) - 127);
}
f32 from_e4m3(std::byte code) { return convert<f32>(std::bit_cast<fp8_e4m3>(code)); }
f32 from_e2m1(unsigned code) {
  constexpr std::array<f32, 8> magnitudes{0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  return code & 8 ? -magnitudes[code & 7] : magnitudes[code & 7];
}

/// The rows of a matrix without padding: as many as its bias has, where that fits; else `stored`.
std::int64_t rows_of_layer(const Companions& companions, const std::string& layer, std::int64_t stored,
                           std::int64_t padded_to) {
  const auto bias = companions.tensors.find(layer + ".bias");
  if (bias == companions.tensors.end() || bias->second->shape.rank() != 1) return stored;
  const std::int64_t rows = bias->second->shape[0];
  return rounded_up(rows, padded_to) == stored ? rows : stored;
}

}  // namespace

/// No file says which columns are padding: a module that asks for fewer columns drops the others.
WeightTensor mxfp8_weight(Companions& companions, const std::string& layer, const io::TensorEntry& stored) {
  const io::TensorEntry* scales = take_scale(companions, layer);
  if (!scales)
    throw companions.error(layer + ".weight",
                           "is announced as mxfp8 and has no weight_scale: get the file again");
  if (stored.dtype.info != comfy_mxfp8.codes || stored.shape.rank() != 2)
    throw companions.error(layer + ".weight",
                           "is announced as mxfp8 and is not an F8_E4M3 matrix: get the file again");
  constexpr std::int64_t padded_to = 32;
  const SwizzledBlocks blocks{&stored, scales, rows_of_layer(companions, layer, stored.shape[0], padded_to),
                              stored.shape[1], 32};
  blocks.check(companions, layer);
  const auto decode = [blocks](std::int64_t from, std::span<f32> out) {
    blocks.for_values(out, from, [&](std::int64_t at, std::span<f32> row) {
      read_values(*blocks.stored, at, row);
      for (std::size_t i = 0; i < row.size(); ++i)
        row[i] *= from_e8m0(blocks.scale(at / blocks.columns, static_cast<std::int64_t>(i) / 32));
    });
  };
  WeightTensor weight{
      &stored, Shape{blocks.rows, blocks.columns}, "swizzled mxfp8",
      std::ssize(stored.bytes) + std::ssize(scales->bytes),
      Decoding{
          .decode = decode, .padded_to = padded_to, .codes = StoredCodes{comfy_mxfp8.announced, scales}}};
  if (blocks.columns % blocks.in_block != 0 || !block_format_compiled(dtype_traits<mxfp8>::name))
    return weight;
  const auto arrange = [blocks](std::span<std::byte> out) {
    const std::int64_t in_row = blocks.blocks();
    for_rows(blocks.rows, blocks.columns, [&](std::int64_t first, std::int64_t count) {
      for (std::int64_t b = first * in_row; b < (first + count) * in_row; ++b) {
        std::byte* const block = out.data() + b * std::int64_t{sizeof(mxfp8)};
        block[0] = blocks.scale(b / in_row, b % in_row);
        std::memcpy(block + 1, blocks.stored->bytes.data() + b * blocks.in_block,
                    static_cast<std::size_t>(blocks.in_block));
      }
    });
  };
  weight.held = {dtype_info<mxfp8>, bytes_for<mxfp8>(blocks.rows * blocks.columns), arrange};
  return weight;
}

WeightTensor nvfp4_weight(Companions& companions, const std::string& layer, const io::TensorEntry& stored) {
  const io::TensorEntry* scales = take_scale(companions, layer);
  const io::TensorEntry* whole = companions.take(layer + ".weight_scale_2");
  const auto wrong = [&](const std::string& problem) {
    return companions.error(layer + ".weight",
                            "is announced as nvfp4 and " + problem + ": get the file again");
  };
  if (!scales || !whole) throw wrong(std::string("has no ") + (scales ? "weight_scale_2" : "weight_scale"));
  if (stored.dtype.info != comfy_nvfp4.codes || stored.shape.rank() != 2) throw wrong("is not a U8 matrix");
  if (whole->shape.elements() != 1 || !holds_numbers(*whole))
    throw wrong("its weight_scale_2 is not a number");
  constexpr std::int64_t padded_to = 16;
  const SwizzledBlocks blocks{&stored, scales, rows_of_layer(companions, layer, stored.shape[0], padded_to),
                              2 * stored.shape[1], 16};
  blocks.check(companions, layer);
  // AWQ's factors, by which ComfyUI multiplies the layer's input: the columns of the matrix may be
  // multiplied instead.
  const io::TensorEntry* const of_columns = companions.take(layer + ".pre_quant_scale");
  if (of_columns && (!holds_numbers(*of_columns) || of_columns->shape.rank() != 1 ||
                     (of_columns->shape[0] != blocks.columns &&
                      rounded_up(of_columns->shape[0], padded_to) != blocks.columns)))
    throw wrong("its pre_quant_scale is " + std::string(of_columns->dtype.file_name) + " " +
                to_string(of_columns->shape) + " where one number for each of " +
                std::to_string(blocks.columns) + " columns is expected");
  const auto decode = [blocks, whole, of_columns](std::int64_t from, std::span<f32> out) {
    const f32 factor = values_of(*whole).front();
    const std::vector<f32> by = of_columns ? values_of(*of_columns) : std::vector<f32>();
    blocks.for_values(out, from, [&](std::int64_t at, std::span<f32> row) {
      const std::byte* const pairs = blocks.stored->bytes.data() + at / 2;
      for (std::size_t i = 0; i < row.size(); ++i) {
        const auto pair = static_cast<unsigned>(pairs[i / 2]);
        const unsigned code = i % 2 == 0 ? pair >> 4 : pair & 15;
        const std::byte scale = blocks.scale(at / blocks.columns, static_cast<std::int64_t>(i) / 16);
        row[i] = from_e2m1(code) * (from_e4m3(scale) * factor);
        if (i < by.size()) row[i] *= by[i];
      }
    });
  };
  WeightTensor weight{&stored, Shape{blocks.rows, blocks.columns}, "swizzled nvfp4",
                      std::ssize(stored.bytes) + std::ssize(scales->bytes) + std::ssize(whole->bytes),
                      Decoding{.decode = decode, .padded_to = padded_to}};
  if (of_columns) {
    weight.bytes += std::ssize(of_columns->bytes);
    weight.format += " with a scale a column";  // which the codes alone do not hold
  } else {
    weight.decoding->codes = {comfy_nvfp4.announced, scales, whole};
  }
  return weight;
}

}  // namespace precast::weights
