// The options of the command line that cure what a trace found.
#pragma once

#include <string>
#include <string_view>

#include <precast/watch/cure.hpp>

namespace precast::cli {

/// "--upcast-attention": a cure as this program's user spells it; a precision where the op of that path needs
/// it, "--vae-precision bf16", and of all components where the path names none.
std::string option_of(watch::Cure cure, std::string_view path = {});

/// The line of watch::diagnosis, with the options of this program.
std::string diagnosis(const watch::NonFinite& found);

}  // namespace precast::cli
