#include <sampling/sampler_title.hpp>

namespace precast::sampling {

std::string_view sampler_title(SamplerKind kind) {
  switch (kind) {
    case SamplerKind::ddim:
      return "DDIM";
    case SamplerKind::pndm:
      return "PLMS";
    case SamplerKind::euler:
      return "Euler";
    case SamplerKind::euler_a:
      return "Euler a";
    case SamplerKind::dpmpp_2m:
      return "DPM++ 2M";
    case SamplerKind::dpmpp_2m_karras:
      return "DPM++ 2M Karras";
    case SamplerKind::dpmpp_2m_sde:
      return "DPM++ 2M SDE";
    case SamplerKind::dpmpp_2m_sde_karras:
      return "DPM++ 2M SDE Karras";
    case SamplerKind::lcm:
      break;
  }
  return "LCM";
}

std::optional<SamplerKind> sampler_titled(std::string_view title) {
  for (const SamplerKind kind : sampler_kinds())
    if (sampler_title(kind) == title) return kind;
  return std::nullopt;
}

}  // namespace precast::sampling
