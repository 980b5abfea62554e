// encode_in_range: encodes values, and detects those out of the format's range.
#pragma once

#include <cstddef>
#include <span>

#include <formats/stored_format.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/quant/encode_options.hpp>

namespace precast::formats {

/// The largest magnitude of nvfp4 without a scale for the whole matrix: its largest code times its largest
/// scale. The encoder gives this magnitude for larger ones, and 0 for much larger ones.
inline constexpr f32 largest_nvfp4 = 6.0f * 448.0f;

/// Encodes finite values, which are whole blocks, to bytes at an address for which blocks are aligned.
/// Scalars are rounded once. Returns false where a value is beyond what the format can hold: it would come
/// back infinite, NaN, 0 or, of nvfp4 and of scalars without infinity and NaN, as another one.
bool encode_in_range(const StoredFormat& format, std::span<const f32> values, std::span<std::byte> bytes,
                     const quant::EncodeOptions& options);

}  // namespace precast::formats
