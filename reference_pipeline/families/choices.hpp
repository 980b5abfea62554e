// Which policy each part of a model has.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include <precast/policy/choice.hpp>
#include <precast/policy/presets.hpp>

namespace precast::families {

/// The role of a part of a model: parts of one role have one policy.
enum class Role : std::uint8_t { denoiser, text_encoder, t5_encoder, vae };
inline constexpr std::array all_roles{Role::denoiser, Role::text_encoder, Role::t5_encoder, Role::vae};

/// The policy of each role.
struct ComponentChoices {
  PolicyChoice denoiser;  ///< a transformer or a UNet
  PolicyChoice text_encoder;
  PolicyChoice vae;
  std::optional<PolicyChoice> t5_encoder = std::nullopt;  ///< where it differs from text_encoder

  static constexpr ComponentChoices all(const PolicyChoice& choice) { return {choice, choice, choice}; }
  constexpr const PolicyChoice& of(Role role) const {
    if (role == Role::t5_encoder && t5_encoder) return *t5_encoder;
    return role == Role::denoiser ? denoiser : role == Role::vae ? vae : text_encoder;
  }
  friend constexpr bool operator==(const ComponentChoices&, const ComponentChoices&) = default;
};

/// The policies of a compile-time Mixed<...>, which must be among the compiled paths.
template <class MixedPolicy>
constexpr ComponentChoices choices_of() {
  return {choice_of<typename MixedPolicy::transformer>(), choice_of<typename MixedPolicy::text_encoder>(),
          choice_of<typename MixedPolicy::vae>()};
}

}  // namespace precast::families
