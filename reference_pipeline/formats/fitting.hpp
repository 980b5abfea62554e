// The type that a tensor takes where a format is requested, for cost, plans and convert alike.
#pragma once

#include <cstdint>
#include <optional>

#include <formats/stored_format.hpp>

#include <precast/dtype/dtype.hpp>
#include <precast/tensor/shape.hpp>

namespace precast::formats {

/// Whether blocks of a type divide rows of `values` values; always true where a block is a whole row.
bool divides(const DtypeInfo& type, std::int64_t values);

/// Whether a tensor is a matrix in whole tiles of a format, as safetensors files hold it. A format without
/// tiles holds any.
bool in_whole_tiles(const StoredFormat& format, const Shape& tensor);

/// The type that a tensor takes where `wanted` is asked for. Scalars fit any tensor. Blocks fit tensors
/// whose rows they divide; others take the smallest of iq4_nl, q5_0, q5_1 and q8_0 (blocks of 32) that is
/// no smaller and divides their rows, but never in place of a format that a program added. Rows under
/// scales fit matrices, and get their columns. Formats in tiles fit matrices in whole tiles, unless GGUF
/// files, which know no tiles, hold the format too, as they do nvfp4: convert asks in_whole_tiles, since it
/// knows the kind of file. Nothing where none fits: the tensor stays as it is, as a UNet's convolutions do
/// in all but scalars, whose rows are three values or one.
std::optional<DtypeInfo> fitting_type(const DtypeInfo& wanted, const Shape& tensor);

/// The bits that a parameter takes in a file, its scales included, as convert and inspect count them. Where
/// a tensor has one scale, rows have none in the file, and it is not counted how long a row is.
double bits_in_file(const DtypeInfo& type, const Shape& shape);

}  // namespace precast::formats
