// Writes weights as codes with their scales beside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <convert/output_tensor.hpp>

#include <precast/quant/encode_options.hpp>

namespace precast::conversion {

/// What of a tensor's values is wanted next: `read(first, values)` writes values [first, first +
/// values.size()) of it, counted over all of its pieces, all of them finite. Several threads call it.
using ReadValues = std::function<void(std::int64_t first, std::span<f32> values)>;
/// Where bytes go, in the order of what was announced; told how many values are done with them.
using WriteBytes = std::function<void(std::span<const std::byte> bytes, std::int64_t values)>;

/// Which encoder makes the blocks or the scale of a row, and by which importance of its columns. Several
/// threads call it.
using OptionsOfRow = std::function<quant::EncodeOptions(std::int64_t row)>;

/// Writes what declare_scaled announced, some MiB at a time; the scales are kept until the codes are written.
/// A scale for the whole tensor takes two passes over its values, and eight where it is searched. What lies
/// in the format already keeps its codes and scales, where what is put together has scales that one tensor
/// can have; nvfp4 of GGUF gets a 1 for all of its scales.
void write_scaled(const OutputTensor& tensor, const ReadValues& read, const OptionsOfRow& options,
                  const WriteBytes& write);

}  // namespace precast::conversion
