// What other programs' pictures say that no command here can: told, rather than lost.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cli/picture_settings/picture_settings.hpp>

namespace precast::cli {

/// Whether the schedule of noise is Karras', under the names that programs have for it. AUTOMATIC1111's
/// "Automatic" is Karras' for DPM++ 2M.
bool has_karras_schedule(const PictureSettings& settings);

/// Sentences on the prompt's and the text's settings that the command leaves out; `sampler` is the one that
/// it has, or "".
std::vector<std::string> notes_on_what_is_left_out(const PictureSettings& settings, std::string_view sampler);

}  // namespace precast::cli
