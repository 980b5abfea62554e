// Writes weights as codes with their scales beside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include <convert/output_tensor.hpp>

#include <precast/quant/encode_options.hpp>

namespace precast::conversion {

/// Reads a tensor: `read(first, values)` writes values [first, first + values.size()), counted over all of
/// its pieces, all of them finite. Several threads call it.
using ReadValues = std::function<void(std::int64_t first, std::span<f32> values)>;
/// Takes bytes in the order of what was announced, and how many values are done with them.
using WriteBytes = std::function<void(std::span<const std::byte> bytes, std::int64_t values)>;

/// The encoder of a row's blocks or scale, and the importance of its columns. Several threads call it.
using OptionsOfRow = std::function<quant::EncodeOptions(std::int64_t row)>;

/// Writes what declare_scaled announced, some MiB at a time; the scales are kept until the codes are written.
/// A scale for the whole tensor takes two passes over its values, and eight where it is searched. A tensor
/// that lies in the format already keeps its codes and scales where can_be_moved says so. The blocks of
/// GGUF's nvfp4 are kept too, and the number that all of their scales are multiplied by is 1.
void write_scaled(const OutputTensor& tensor, const ReadValues& read, const OptionsOfRow& options,
                  const WriteBytes& write);

}  // namespace precast::conversion
