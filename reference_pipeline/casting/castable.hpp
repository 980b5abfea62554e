// Which formats this build casts layers to.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <precast/policy/quant_formats.hpp>

namespace precast::casting {

/// Whether a build with the block formats that `holds` accepts can cast models to format `name`, which
/// means to decode it as well. Every build has the other formats, and those that a program adds; and it
/// encodes to all formats, as convert does.
bool can_cast_to(std::string_view name,
                 bool (*holds)(std::string_view block_format) = &block_format_compiled);

/// Throws PathNotCompiled where this build cannot cast models to one of `names`, which are exact format
/// names. The message begins with `where` and names all missing formats and the option to turn on.
void require_types(const std::string& where, std::span<const std::string> names);

}  // namespace precast::casting
