// Weights that ComfyUI stores, by kind, for comfy_weight alone.
#pragma once

#include <cstdint>
#include <string>

#include <weights/weight_tensors.hpp>

namespace precast::weights {

/// A layer's scale under either of its names; nullptr where it has none. Throws InputError where it has both.
const io::TensorEntry* take_scale(Companions& companions, const std::string& layer);

/// Codes of fp8 or int8 under one scale, or one for each row. The weight is `held` as stored where this
/// build multiplies such rows. Throws InputError for scales of another size.
WeightTensor scaled_rows_weight(const Companions& companions, const std::string& layer,
                                const io::TensorEntry& stored, const io::TensorEntry& scale);
/// Codes of fp8 or int8 of a matrix whose columns were rotated, `group` at a time, a power of 4: decoding
/// inverts the rotation.
WeightTensor rotated_rows_weight(const Companions& companions, const std::string& layer,
                                 const io::TensorEntry& stored, const io::TensorEntry& scale,
                                 std::int64_t group);

/// Blocks with scales in the order of tensor cores (SwizzledScales). Throw InputError for companions that
/// are missing or of the wrong size.
WeightTensor mxfp8_weight(Companions& companions, const std::string& layer, const io::TensorEntry& stored);
WeightTensor nvfp4_weight(Companions& companions, const std::string& layer, const io::TensorEntry& stored);

}  // namespace precast::weights
