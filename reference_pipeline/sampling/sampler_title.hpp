// The names of samplers in pictures' settings.
#pragma once

#include <optional>
#include <string_view>

#include <sampling/scheduler_config.hpp>

namespace precast::sampling {

/// "Euler a", the name that AUTOMATIC1111 and its successors write into pictures.
std::string_view sampler_title(SamplerKind kind);
/// The sampler of that title, or nothing.
std::optional<SamplerKind> sampler_titled(std::string_view title);

}  // namespace precast::sampling
