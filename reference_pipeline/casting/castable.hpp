// Which formats this build casts layers to.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <precast/policy/quant_formats.hpp>

namespace precast::casting {

/// Whether models are cast to the format of that name in a build that `holds` some of Precast's block
/// formats: what is cast is decoded again. Every build has the other formats, and those that a program adds;
/// and it encodes to all of them, as convert does.
bool can_cast_to(std::string_view name,
                 bool (*holds)(std::string_view block_format) = &block_format_compiled);

/// Throws PathNotCompiled, which begins with `where` and names all formats that this build does not have and
/// the option to turn on, where models cannot be cast to one of these, given by their own names.
void require_types(const std::string& where, std::span<const std::string> names);

}  // namespace precast::casting
