// Weights that bitsandbytes stores: 4-bit codes into a map with a scale for each block, and int8 by rows.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <weights/weight_tensors.hpp>

#include <precast/io/counted.hpp>

namespace precast::weights {

namespace {

/// Far above bitsandbytes' largest block (4096), and far below sizes that overflow.
constexpr std::int64_t most_in_block = std::int64_t{1} << 30;

/// A weight's quant_state.
struct QuantState {
  Shape shape;
  std::int64_t block = 64, nested_block = 256;
  f32 nested_offset = 0;
};

QuantState state_of(const Companions& companions, const io::TensorEntry& entry) {
  constexpr double largest = std::numeric_limits<f32>::max();
  const io::Config json = json_of(companions, entry);
  QuantState state;
  state.shape = io::stated_shape(json.integers("shape", 0, Shape::max_elements), entry.name, json.path());
  state.block = json.integer_or("blocksize", state.block, 1, most_in_block);
  state.nested_block = json.integer_or("nested_blocksize", state.nested_block, 1, most_in_block);
  state.nested_offset = static_cast<f32>(json.number_or("nested_offset", 0, -largest, largest));
  return state;
}

/// Rows of int8 times a factor each, 1/127 of what stands there: a product with f32's 1/127, as
/// bitsandbytes has it.
WeightTensor int8_weight(Companions& companions, const std::string& layer, const io::TensorEntry& stored,
                         const io::TensorEntry& factors) {
  companions.take(layer + ".weight_format");
  const std::int64_t rows = stored.shape.rank() ? stored.shape[0] : 1, columns = stored.shape.back();
  if (stored.dtype.info.name != "i8" || stored.shape.rank() != 2 || factors.shape.elements() != rows ||
      !holds_numbers(factors))
    throw companions.error(layer + ".weight",
                           "must be an I8 matrix with an SCB for each row: get the file again");
  const auto decode = [&stored, &factors, columns](std::int64_t from, std::span<f32> out) {
    for_rows_in(out, columns, [&](std::int64_t first, std::int64_t count, std::span<f32> here) {
      const std::int64_t row = from / columns + first;
      std::vector<f32> by(static_cast<std::size_t>(count));
      read_values(factors, row, by);
      for (std::size_t i = 0; i < here.size(); ++i)
        here[i] = static_cast<f32>(
                      static_cast<std::int8_t>(stored.bytes[static_cast<std::size_t>(row * columns) + i])) *
                  by[i / static_cast<std::size_t>(columns)] * (1 / 127.0f);
    });
  };
  return {&stored, stored.shape, "int8 of bitsandbytes", std::ssize(stored.bytes) + std::ssize(factors.bytes),
          Decoding{.decode = decode}};
}

/// The tensors of a weight in 4 bits.
struct FourBits {
  const char* format;
  const io::TensorEntry* stored;
  const io::TensorEntry* scales;         ///< of each block; bytes where they are nested
  const io::TensorEntry* codes;          ///< the 16 values
  const io::TensorEntry* nested_scales;  ///< of blocks of scales
  const io::TensorEntry* nested_codes;   ///< the 256 values of a scale
  QuantState state = {};

  bool nested() const { return scales->dtype.info.name == "u8"; }

  /// The scales of blocks from `first` on.
  void read_factors(std::int64_t first, std::span<f32> factors) const {
    if (!nested()) return read_values(*scales, first, factors);
    const std::vector<f32> map = values_of(*nested_codes), by = values_of(*nested_scales);
    for (std::size_t b = 0; b < factors.size(); ++b) {
      const std::size_t block = static_cast<std::size_t>(first) + b;
      factors[b] = map[static_cast<std::size_t>(scales->bytes[block])] *
                       by[block / static_cast<std::size_t>(state.nested_block)] +
                   state.nested_offset;
    }
  }

  void decode(std::int64_t from, std::span<f32> out) const {
    const std::vector<f32> map = values_of(*codes);
    const std::int64_t first_block = from / state.block, end = from + std::ssize(out);
    std::vector<f32> factors(static_cast<std::size_t>(ceil_divide(end, state.block) - first_block));
    read_factors(first_block, factors);
    for_rows(std::ssize(factors), state.block, [&](std::int64_t first, std::int64_t some) {
      const std::int64_t begin = (first_block + first) * state.block;
      for (std::int64_t i = std::max(from, begin); i < std::min(end, begin + some * state.block); ++i) {
        const auto pair = static_cast<unsigned>(stored->bytes[static_cast<std::size_t>(i / 2)]);
        out[static_cast<std::size_t>(i - from)] =
            map[i % 2 == 0 ? pair >> 4 : pair & 15] *
            factors[static_cast<std::size_t>(i / state.block - first_block)];
      }
    });
  }

  /// What is wrong with their sizes and dtypes, or "".
  std::string problem() const {
    const std::int64_t count = state.shape.elements(), blocks = ceil_divide(count, state.block);
    // The bytes may be stored as any dtype: bnb_4bit_quant_storage chooses it.
    if (stored->dtype.info.values_per_block != 1 || std::ssize(stored->bytes) != ceil_divide(count, 2))
      return "of " + io::counted(std::ssize(stored->bytes), "byte") + " where " + to_string(state.shape) +
             " takes " + std::to_string(ceil_divide(count, 2));
    if (codes->shape.elements() != 16 || !holds_numbers(*codes)) return "without 16 values in its quant_map";
    if (scales->shape.elements() != blocks || (!nested() && !holds_numbers(*scales)))
      return "its absmax has " + std::to_string(scales->shape.elements()) + " values for " +
             std::to_string(blocks) + " blocks";
    if (nested() && (!nested_scales || !nested_codes || nested_codes->shape.elements() != 256 ||
                     !holds_numbers(*nested_scales) || !holds_numbers(*nested_codes) ||
                     nested_scales->shape.elements() != ceil_divide(blocks, state.nested_block)))
      return "without the nested_absmax and nested_quant_map that its absmax of bytes needs";
    return {};
  }
};

}  // namespace

std::optional<WeightTensor> bitsandbytes_weight(Companions& companions, const std::string& layer) {
  const std::string name = layer + ".weight";
  const io::TensorEntry& stored = *companions.tensors.at(name);
  if (const io::TensorEntry* factors = companions.take(layer + ".SCB"))
    return int8_weight(companions, layer, stored, *factors);
  const io::TensorEntry* const nf4 = companions.take(name + ".quant_state.bitsandbytes__nf4");
  const io::TensorEntry* const fp4 = companions.take(name + ".quant_state.bitsandbytes__fp4");
  const io::TensorEntry* const state = nf4 ? nf4 : fp4;
  FourBits weight{nf4 ? "nf4" : "fp4",
                  &stored,
                  companions.take(name + ".absmax"),
                  companions.take(name + ".quant_map"),
                  companions.take(name + ".nested_absmax"),
                  companions.take(name + ".nested_quant_map")};
  if (!state && !weight.scales && !weight.codes) return std::nullopt;
  const auto wrong = [&](const std::string& problem) {
    return companions.error(name, "is in bitsandbytes' 4 bits, " + problem + ": get the file again");
  };
  if (!state) throw wrong("without its quant_state");
  if (nf4 && fp4) throw wrong("with the quant_state of nf4 and that of fp4");
  if (!weight.scales || !weight.codes)
    throw wrong(std::string("without its ") + (weight.scales ? "quant_map" : "absmax"));
  weight.state = state_of(companions, *state);
  if (const std::string problem = weight.problem(); !problem.empty()) throw wrong(problem);
  const auto decode = [weight](std::int64_t from, std::span<f32> out) { weight.decode(from, out); };
  return WeightTensor{&stored, weight.state.shape, std::string(weight.format) + " of bitsandbytes",
                      std::ssize(stored.bytes) + std::ssize(weight.scales->bytes),
                      Decoding{.decode = decode, .run = 1}};
}

}  // namespace precast::weights
