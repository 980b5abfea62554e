// The options of the command line that cure what a trace found.
#pragma once

#include <string>

#include <precast/watch/cure.hpp>

namespace precast::cli {

/// "--upcast-attention": a cure as this program's user spells it.
std::string option_of(watch::Cure cure);

}  // namespace precast::cli
