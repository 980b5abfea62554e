// Weights that ComfyUI stores with scales beside them: how they are announced, and what their values are.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <type_traits>
#include <utility>

#include <weights/layouts.hpp>
#include <weights/weight_tensors.hpp>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/policy/quant_formats.hpp>
#include <precast/tensor/rounded_up.hpp>

namespace precast::weights {

namespace {

/// Columns that fit what a dtype counts with.
constexpr std::int64_t longest_held_row = std::int64_t{1} << 29;

/// What a layer is announced as: by a tensor of its own, or in the file's header.
struct Announced {
  std::string format;
  std::optional<nlohmann::json> turned_by;  ///< columns in a group that a rotation was applied to
};

Announced announced_in(const nlohmann::json& object) {
  Announced announced;
  if (const auto format = object.find("format"); format != object.end() && format->is_string())
    announced.format = format->get<std::string>();
  if (const auto turned = object.find("convrot"); turned != object.end() && turned->is_boolean() && *turned) {
    const auto group = object.find("convrot_groupsize");
    announced.turned_by = group == object.end() ? nlohmann::json(256) : *group;
  }
  return announced;
}

/// The objects `layers` of the files' headers.
std::vector<nlohmann::json> layers_in_headers(const io::ComponentSource& component) {
  std::vector<nlohmann::json> all;
  for (const io::TensorFile& file : component.files()) {
    if (!file.safetensors()) continue;
    const auto& metadata = file.safetensors()->metadata();
    const auto found = metadata.find("_quantization_metadata");
    if (found == metadata.end()) continue;
    nlohmann::json object = nlohmann::json::parse(found->second, nullptr, false);
    if (!object.is_object() || !object.contains("layers") || !object["layers"].is_object())
      throw io::file_error(file.path(),
                           "header: _quantization_metadata must hold an object 'layers': get the file anew");
    all.push_back(std::move(object["layers"]));
  }
  return all;
}

/// What the headers say of a layer, under its name in the file or without the prefix, which those who read
/// the file's tensors as they are do not split off.
Announced in_header(Companions& companions, const std::string& layer) {
  if (!companions.announced) companions.announced = layers_in_headers(companions.file);
  const std::string full = companions.prefix + layer;
  for (const nlohmann::json& layers : *companions.announced)
    for (const std::string& name : {full, layer, std::string(without_prefix(full))})
      if (const auto at = layers.find(name); at != layers.end() && at->is_object()) return announced_in(*at);
  return {};
}

/// The type of the codes of a format that has scales beside them, of a tensor or a row each.
std::optional<std::string_view> dtype_announced_as(std::string_view format) {
  if (format == "float8_e4m3fn") return dtype_info<fp8_e4m3>.name;
  if (format == "float8_e5m2") return dtype_info<fp8_e5m2>.name;
  if (format == "int8_tensorwise") return "i8";
  return std::nullopt;
}

bool is_fp8(const io::TensorEntry& entry) { return entry.dtype.info.name.starts_with("fp8"); }

/// A scale under either of its names.
const io::TensorEntry* take_scale(Companions& companions, const std::string& layer) {
  const io::TensorEntry* old_name = companions.take(layer + ".scale_weight");
  const io::TensorEntry* new_name = companions.take(layer + ".weight_scale");
  if (old_name && new_name)
    throw companions.error(layer + ".weight",
                           "has both a scale_weight and a weight_scale: get the file anew");
  return old_name ? old_name : new_name;
}

/// Writes the factors of rows from `first` on.
using RowFactors = std::function<void(std::int64_t first, std::span<f32> factors)>;

/// The factor of each row: one for all of them, or one each.
RowFactors row_factors(const Companions& companions, const io::TensorEntry& scale, const std::string& layer,
                       std::int64_t rows) {
  const std::int64_t count = scale.shape.elements();
  if (!holds_numbers(scale) || (count != 1 && count != rows))
    throw companions.error(layer + ".weight",
                           "its scale is " + std::string(scale.dtype.file_name) + " " +
                               to_string(scale.shape) + " where one number, or one for each of " +
                               std::to_string(rows) + " rows, is expected: get the file anew");
  return [&scale, count](std::int64_t first, std::span<f32> factors) {
    if (count == 1)
      std::ranges::fill(factors, values_of(scale).front());
    else
      read_values(scale, first, factors);
  };
}

/// Rows of a matrix from values and a factor for each row.
Decode scaled_rows(const Companions& companions, const io::TensorEntry& stored, const io::TensorEntry& scale,
                   const std::string& layer) {
  const std::int64_t rows = stored.shape.rank() ? stored.shape[0] : 1;
  const std::int64_t columns = stored.shape.elements() / std::max<std::int64_t>(rows, 1);
  const bool bytes = stored.dtype.info.name == "i8";
  return [&stored, columns, factors = row_factors(companions, scale, layer, rows), bytes](
             std::int64_t from, std::span<f32> out) {
    for_rows_in(out, columns, [&](std::int64_t first, std::int64_t count, std::span<f32> here) {
      const std::int64_t row = from / columns + first;
      if (bytes)
        std::ranges::transform(
            stored.bytes.subspan(static_cast<std::size_t>(row * columns), here.size()), here.begin(),
            [](std::byte value) { return static_cast<f32>(static_cast<std::int8_t>(value)); });
      else
        read_values(stored, row * columns, here);
      std::vector<f32> by(static_cast<std::size_t>(count));
      factors(row, by);
      for (std::size_t i = 0; i < here.size(); ++i) here[i] *= by[i / static_cast<std::size_t>(columns)];
    });
  };
}

/// Rows of codes and a factor for each row as a weight that stays so in memory, where this build multiplies
/// these: a block format of rows under scales.
void hold_rows(WeightTensor& weight, const Companions& companions, const io::TensorEntry& scale,
               const std::string& layer) {
  const io::TensorEntry& stored = *weight.stored;
  if (stored.shape.rank() != 2) return;
  const std::int64_t rows = stored.shape[0], columns = stored.shape[1];
  // Rows of an odd number of bytes would begin at addresses where readers copy them first.
  if (rows == 0 || columns < 2 || columns % 2 != 0 || columns >= longest_held_row) return;
  const bool of_tensor = scale.shape.elements() == 1;
  any_scaled_row_dtype([&]<class Format>(std::type_identity<Format>) {
    using Code = scaled_code_of<Format>;
    constexpr bool of_bytes = std::is_same_v<Code, std::int8_t>;
    // Of int8 there is no format with one scale for all: each row gets it.
    if ((scale_of<Format> == ScaleOf::tensor) != (of_tensor && !of_bytes)) return false;
    bool same_codes;
    if constexpr (of_bytes)
      same_codes = stored.dtype.info.name == "i8";
    else
      same_codes = stored.dtype.info == dtype_info<Code>;
    if (!same_codes || !block_format_compiled(dtype_traits<Format>::name)) return false;
    const std::int64_t row_bytes = row_head_bytes + columns;
    weight.held = scaled_row_info(dtype_traits<Format>::name, columns);
    weight.held_bytes = rows * row_bytes;
    weight.arrange = [&stored, rows, columns, row_bytes,
                      factors = row_factors(companions, scale, layer, rows)](std::span<std::byte> out) {
      std::vector<f32> by(static_cast<std::size_t>(rows));
      factors(0, by);
      for_rows(rows, columns, [&](std::int64_t first, std::int64_t count) {
        for (std::int64_t r = first; r < first + count; ++r) {
          std::byte* const row = out.data() + r * row_bytes;
          write_row_head(by[static_cast<std::size_t>(r)], columns, row);
          std::memcpy(row + row_head_bytes, stored.bytes.data() + r * columns,
                      static_cast<std::size_t>(columns));
        }
      });
    };
    return true;
  });
}

/// Takes the rotation of groups of columns back: each group times a Kronecker power of one 4 by 4 matrix,
/// which is its own inverse.
void turn_back(std::span<f32> row, std::int64_t group) {
  for (std::size_t begin = 0; begin < row.size(); begin += static_cast<std::size_t>(group)) {
    const auto part = row.subspan(begin, static_cast<std::size_t>(group));
    for (std::size_t step = 1; step < part.size(); step *= 4)
      for (std::size_t i = 0; i < part.size(); ++i) {
        if (i / step % 4 != 0) continue;
        f32 &a = part[i], &b = part[i + step], &c = part[i + 2 * step], &d = part[i + 3 * step];
        const std::array<f32, 4> turned{(a + b + c - d) / 2, (a + b - c + d) / 2, (a - b + c + d) / 2,
                                        (-a + b + c + d) / 2};
        a = turned[0], b = turned[1], c = turned[2], d = turned[3];
      }
  }
}

/// Where the scale of row r and block c lies among those of a matrix: in tiles of 128 by 4, as tensor cores
/// want them.
std::size_t swizzled(std::int64_t r, std::int64_t c, std::int64_t blocks_padded) {
  return static_cast<std::size_t>((r / 128 * (blocks_padded / 4) + c / 4) * 512 + r % 32 * 16 +
                                  r % 128 / 32 * 4 + c % 4);
}

/// A matrix in blocks along its rows, each with a scale of a byte that lies swizzled.
struct SwizzledBlocks {
  const io::TensorEntry* stored;
  const io::TensorEntry* scales;
  std::int64_t rows, columns, in_block;

  std::int64_t blocks() const { return ceil_divide(columns, in_block); }
  void check(const Companions& companions, const std::string& layer) const {
    const std::int64_t expected = rounded_up(rows, 128) * rounded_up(blocks(), 4);
    if (scales->dtype.info.values_per_block != 1 || scales->dtype.info.bytes_per_block != 1)
      throw companions.error(layer + ".weight", "its scales are " + std::string(scales->dtype.file_name) +
                                                    " where bytes are expected: get the file anew");
    if (std::ssize(scales->bytes) != expected)
      throw companions.error(layer + ".weight", "its scales take " + std::to_string(scales->bytes.size()) +
                                                    " bytes where " + std::to_string(expected) +
                                                    " are expected: get the file anew");
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
    return scales->bytes[swizzled(row, block, rounded_up(blocks(), 4))];
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

/// The rows of a matrix without those that it was padded with: those that its bias has.
std::int64_t rows_of_layer(const Companions& companions, const std::string& layer, std::int64_t stored,
                           std::int64_t padded_to) {
  const auto bias = companions.tensors.find(layer + ".bias");
  if (bias == companions.tensors.end() || bias->second->shape.rank() != 1) return stored;
  const std::int64_t rows = bias->second->shape[0];
  return rounded_up(rows, padded_to) == stored ? rows : stored;
}

/// Which of the columns are padding no file says: a module that asks for fewer leaves them out.
WeightTensor mxfp8_weight(Companions& companions, const std::string& layer, const io::TensorEntry& stored) {
  const io::TensorEntry* scales = take_scale(companions, layer);
  if (!scales)
    throw companions.error(layer + ".weight",
                           "is announced as mxfp8 and has no weight_scale: get the file anew");
  if (stored.dtype.info != dtype_info<fp8_e4m3> || stored.shape.rank() != 2)
    throw companions.error(layer + ".weight",
                           "is announced as mxfp8 and is no F8_E4M3 matrix: get the file anew");
  constexpr std::int64_t padded_to = 32;
  const SwizzledBlocks blocks{&stored, scales, rows_of_layer(companions, layer, stored.shape[0], padded_to),
                              stored.shape[1], 32};
  blocks.check(companions, layer);
  WeightTensor weight{
      &stored, Shape{blocks.rows, blocks.columns}, "swizzled mxfp8",
      [blocks](std::int64_t from, std::span<f32> out) {
        blocks.for_values(out, from, [&](std::int64_t at, std::span<f32> row) {
          read_values(*blocks.stored, at, row);
          for (std::size_t i = 0; i < row.size(); ++i)
            row[i] *= from_e8m0(blocks.scale(at / blocks.columns, static_cast<std::int64_t>(i) / 32));
        });
      },
      std::ssize(stored.bytes) + std::ssize(scales->bytes)};
  weight.padded_to = padded_to;
  if (blocks.columns % blocks.in_block != 0 || !block_format_compiled(dtype_traits<mxfp8>::name))
    return weight;
  weight.held = dtype_info<mxfp8>;
  weight.held_bytes = bytes_for<mxfp8>(blocks.rows * blocks.columns);
  weight.arrange = [blocks](std::span<std::byte> out) {
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
  return weight;
}

WeightTensor nvfp4_weight(Companions& companions, const std::string& layer, const io::TensorEntry& stored) {
  const io::TensorEntry* scales = take_scale(companions, layer);
  const io::TensorEntry* whole = companions.take(layer + ".weight_scale_2");
  const auto wrong = [&](const std::string& problem) {
    return companions.error(layer + ".weight",
                            "is announced as nvfp4 and " + problem + ": get the file anew");
  };
  if (!scales || !whole) throw wrong(std::string("has no ") + (scales ? "weight_scale_2" : "weight_scale"));
  if (stored.dtype.info.name != "u8" || stored.shape.rank() != 2) throw wrong("is no U8 matrix");
  if (whole->shape.elements() != 1 || !holds_numbers(*whole)) throw wrong("its weight_scale_2 is no number");
  constexpr std::int64_t padded_to = 16;
  const SwizzledBlocks blocks{&stored, scales, rows_of_layer(companions, layer, stored.shape[0], padded_to),
                              2 * stored.shape[1], 16};
  blocks.check(companions, layer);
  WeightTensor weight{&stored, Shape{blocks.rows, blocks.columns}, "swizzled nvfp4",
                      [blocks, whole](std::int64_t from, std::span<f32> out) {
                        const f32 factor = values_of(*whole).front();
                        blocks.for_values(out, from, [&](std::int64_t at, std::span<f32> row) {
                          const std::byte* const pairs = blocks.stored->bytes.data() + at / 2;
                          for (std::size_t i = 0; i < row.size(); ++i) {
                            const auto pair = static_cast<unsigned>(pairs[i / 2]);
                            const unsigned code = i % 2 == 0 ? pair >> 4 : pair & 15;
                            const std::byte scale =
                                blocks.scale(at / blocks.columns, static_cast<std::int64_t>(i) / 16);
                            row[i] = from_e2m1(code) * (from_e4m3(scale) * factor);
                          }
                        });
                      },
                      std::ssize(stored.bytes) + std::ssize(scales->bytes) + std::ssize(whole->bytes)};
  weight.padded_to = padded_to;
  return weight;
}

}  // namespace

std::optional<WeightTensor> comfy_weight(Companions& companions, const std::string& layer) {
  const std::string name = layer + ".weight";
  const io::TensorEntry& stored = *companions.tensors.at(name);
  Announced announced = in_header(companions, layer);
  if (const io::TensorEntry* own = companions.take(layer + ".comfy_quant"))
    announced = announced_in(json_of(companions, *own));
  companions.take(layer + ".scale_input");  // of activations, which are not quantised here
  companions.take(layer + ".input_scale");

  if (announced.format == "mxfp8") return mxfp8_weight(companions, layer, stored);
  if (announced.format == "nvfp4") return nvfp4_weight(companions, layer, stored);
  const auto announced_dtype = dtype_announced_as(announced.format);
  if (!announced.format.empty() && !announced_dtype)
    throw companions.error(name, "is announced as '" + io::printable(announced.format, 40) +
                                     "', which is not read: get a GGUF, fp8 or 16-bit file of this model");
  const bool is_int8 = stored.dtype.info.name == "i8";
  if (announced_dtype && stored.dtype.info.name != *announced_dtype)
    throw companions.error(name, "is announced as " + announced.format + " and is " +
                                     std::string(stored.dtype.file_name) + ": get the file anew");

  const io::TensorEntry* scale = take_scale(companions, layer);
  const bool marked = is_fp8(stored) && std::ranges::any_of(companions.scaled_under, [&](const auto& before) {
                        return layer.starts_with(before);
                      });
  if (!scale && (announced_dtype || marked || is_int8))
    throw companions.error(name,
                           std::string("has no scale, which ") +
                               (marked && !announced_dtype ? "the file's tensor scaled_fp8" : "its format") +
                               " announces: get the file anew");
  if (!scale) return std::nullopt;
  if (stored.dtype.info.values_per_block != 1)
    throw companions.error(name, "has a scale beside blocks that have their own: get the file anew");
  if (!holds_numbers(stored) && !is_int8)
    throw companions.error(name, "has a scale and is " + std::string(stored.dtype.file_name) +
                                     " of a format that nothing announces: get the file anew");
  WeightTensor weight{&stored,
                      stored.shape,
                      {},
                      scaled_rows(companions, stored, *scale, layer),
                      std::ssize(stored.bytes) + std::ssize(scale->bytes)};
  weight.format = std::string(is_int8 ? "int8" : stored.dtype.info.name) +
                  (scale->shape.elements() == 1 ? " with a scale" : " with a scale a row");
  if (!announced.turned_by) hold_rows(weight, companions, *scale, layer);
  if (announced.turned_by) {
    const nlohmann::json& given = *announced.turned_by;
    const std::int64_t group = given.is_number_integer() ? given.get<std::int64_t>() : 0;
    const std::int64_t columns = stored.shape.back();
    bool power_of_four = group > 0;
    for (std::int64_t left = group; left > 1; left /= 4) power_of_four = power_of_four && left % 4 == 0;
    if (!power_of_four || columns == 0 || columns % group != 0)
      throw companions.error(name,
                             "was rotated in groups of " + io::json_in_words(given) + " of its " +
                                 std::to_string(columns) +
                                 " columns, which is no power of 4 that divides them: get the file anew");
    weight.format.insert(0, "rotated ");
    weight.decode = [decode = weight.decode, group, columns](std::int64_t from, std::span<f32> out) {
      decode(from, out);
      for_rows_in(out, columns, [&](std::int64_t, std::int64_t, std::span<f32> here) {
        for (std::size_t r = 0; r < here.size(); r += static_cast<std::size_t>(columns))
          turn_back(here.subspan(r, static_cast<std::size_t>(columns)), group);
      });
    };
  }
  return weight;
}

}  // namespace precast::weights
