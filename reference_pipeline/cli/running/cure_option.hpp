// The command-line options for the cures that a trace suggests.
#pragma once

#include <string>
#include <string_view>

#include <precast/watch/cure.hpp>

namespace precast::cli {

/// The option for a cure: "--upcast-attention". For a wider precision, that of the component in `path`,
/// "--vae-precision bf16", or of all components if the path names none.
std::string option_of(watch::Cure cure, std::string_view path = {});

/// watch::diagnosis, with the options of this program.
std::string diagnosis(const watch::NonFinite& found);

}  // namespace precast::cli
