// Values in the types that they are converted between: the stored formats, and f64 to read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <precast/dtype/dtype.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast::conversion {

/// Bytes of so many values, which are whole blocks.
constexpr std::int64_t bytes_of(const DtypeInfo& type, std::int64_t values) {
  return values / type.values_per_block * type.bytes_per_block;
}

constexpr bool is_block(const DtypeInfo& type) { return type.values_per_block > 1; }

/// f64: files have it, and nothing here computes with it.
inline constexpr DtypeInfo f64_info{"f64", 1, sizeof(double)};

/// Whether values of a type can be read: those of stored formats, and f64.
bool is_readable(const DtypeInfo& type);

/// How f64 becomes f32. A value that is rounded to odd can be rounded again, to f16 or narrower: it becomes
/// what f64 itself would have been rounded to (Boldo and Melquiond 2008).
enum class F64Rounding : std::uint8_t { nearest, odd };

/// Decodes `values.size()` values, which are whole blocks, from where they begin; f64 is rounded to f32. The
/// bytes need not be aligned.
void decode(const DtypeInfo& type, std::span<const std::byte> bytes, std::span<f32> values,
            F64Rounding rounding = F64Rounding::nearest);

}  // namespace precast::conversion
