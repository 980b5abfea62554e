// Notes on settings of other programs' pictures that no command here can reproduce.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cli/picture_settings/picture_settings.hpp>

namespace precast::cli {

/// Whether the noise schedule is Karras', under the names that programs use. AUTOMATIC1111's "Automatic" is
/// Karras' for DPM++ 2M.
bool has_karras_schedule(const PictureSettings& settings);

/// Notes on the settings, in the prompt and in the text, that the command leaves out; `sampler` is the
/// command's sampler, or "".
std::vector<std::string> notes_on_what_is_left_out(const PictureSettings& settings, std::string_view sampler);

}  // namespace precast::cli
