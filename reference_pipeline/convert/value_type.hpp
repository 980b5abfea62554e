// The types that values are converted between: every scalar of files and every block format, by name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <precast/dtype/dtype.hpp>
#include <precast/quant/encode_options.hpp>

namespace precast::conversion {

/// Every type that values can be written as: f32, bf16, f16 and both fp8, then the block formats.
std::span<const DtypeInfo> value_types();

/// The type of that name, in either case ("q4_k", "Q4_K"), or nothing.
std::optional<DtypeInfo> find_type(std::string_view name);

/// Bits that a value takes: 4.5 for q4_k.
constexpr double bits_per_value(const DtypeInfo& type) {
  return 8.0 * type.bytes_per_block / type.values_per_block;
}

/// Bytes of so many values, which are whole blocks.
constexpr std::int64_t bytes_of(const DtypeInfo& type, std::int64_t values) {
  return values / type.values_per_block * type.bytes_per_block;
}

constexpr bool is_block(const DtypeInfo& type) { return type.values_per_block > 1; }

/// Whether values of a type can be read: those of value_types(), and f64.
bool is_readable(const DtypeInfo& type);

/// Decodes `values.size()` values, which are whole blocks, from where they begin; f64 is rounded to f32. The
/// bytes need not be aligned.
void decode(const DtypeInfo& type, std::span<const std::byte> bytes, std::span<f32> values);

/// Encodes finite values, which are whole blocks, to bytes at an address for which blocks are aligned.
/// Scalars are rounded once. Returns false where a value is beyond what the type can hold: it would come back
/// infinite or NaN.
bool encode(const DtypeInfo& type, std::span<const f32> values, std::span<std::byte> bytes,
            const quant::EncodeOptions& options);

}  // namespace precast::conversion
