// The formats that a layer can be cast to, by the names that cost files, plans and command lines give them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <formats/registry.hpp>

#include <precast/dtype/dtype.hpp>
#include <precast/policy/quant_formats.hpp>
#include <precast/tensor/shape.hpp>

namespace precast::casting {

/// A format as cost files and plans name it: its name, and the bits that a value takes, scales of blocks
/// included.
using CastType = formats::StoredFormat;

/// Every format of this build that files can hold, by falling number of bits: scalars, then blocks where they
/// are equal.
inline const std::vector<CastType>& cast_types() { return formats::all_formats(); }

using formats::bits_per_value;

/// The format of that name, in either case ("q4_k", "Q4_K"), or nothing.
std::optional<DtypeInfo> find_type(std::string_view name);

/// A format's name as this build has it, of a name in either case; what is none stays as it is.
std::string known_name(std::string_view name);

/// Whether models are cast to the format of that name in a build that `holds` some of Precast's block
/// formats: what is cast is decoded again. Every build has the other formats, and those that a program adds;
/// and it encodes to all of them, as convert does.
bool can_cast_to(std::string_view name,
                 bool (*holds)(std::string_view block_format) = &block_format_compiled);

/// Throws PathNotCompiled, which begins with `where` and names all formats that this build does not have and
/// the option to turn on, where models cannot be cast to one of these.
void require_types(const std::string& where, std::span<const std::string> names);

/// Whether a program added the format: ops do not read it.
bool was_added(const DtypeInfo& type);

/// Whether blocks of a type divide rows of so many values; rows that are blocks themselves are always whole.
bool divides(const DtypeInfo& type, std::int64_t values);

/// What a tensor takes where `wanted` is asked for, and so which tensors a format reaches: cost, plans and
/// convert all go by this. A scalar reaches any. Blocks reach what they divide the rows of; where they do
/// not, it is, of iq4_nl, q5_0, q5_1 and q8_0 (blocks of 32), the smallest that is no smaller and divides
/// them, and for a format that a program added none. Rows under scales, and mxfp8 in whole tiles, reach
/// matrices alone: rows under scales have their columns. Nothing where none fits: the tensor stays as it is,
/// as a UNet's convolutions do in all but scalars, whose rows are three values or one.
std::optional<DtypeInfo> fitting_type(const DtypeInfo& wanted, const Shape& tensor);

/// Files take matrices of mxfp8, whose scales lie there in the order of tensor cores, with a multiple of so
/// many rows: ComfyUI pads them to it.
inline constexpr std::int64_t rows_of_mxfp8_tile = 32;

/// The bits that a parameter takes in a file, its scales included, as convert and inspect count them: where a
/// scale is the whole tensor's, rows have none of their own there, and none says how long it is.
double bits_in_file(const DtypeInfo& type, const Shape& shape);

/// The bits of a format; nothing where this build has none of that name.
std::optional<double> bits_of_type(std::string_view name);

/// "q4_k, q4_0": the names with commas between, for messages.
std::string type_list();

}  // namespace precast::casting
