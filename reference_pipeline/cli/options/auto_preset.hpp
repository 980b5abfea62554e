// `--preset auto`: chooses the preset that suits this machine and this model, with the reason.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <families/device.hpp>

#include <precast/policy/presets.hpp>

namespace precast::cli {

/// The properties of the machine that `auto` uses.
struct Machine {
  std::int64_t free_bytes = 0;         ///< memory still available; 0 if unknown
  bool native_bf16 = false;            ///< bf16 products in hardware (a CPU: avx512_bf16 or AMX)
  std::string_view what = "this CPU";  ///< the processor, in messages
};

/// This machine, as models on a device see it.
Machine machine_of(const families::ChosenDevice& device);

/// A preset and the memory that the model needs under it, 0 without a model.
struct Candidate {
  NamedPreset preset;
  std::int64_t needed_bytes = 0;
};

/// The presets of this build; `needed_bytes` gives the model's memory under a preset.
std::vector<Candidate> compiled_candidates(
    const std::function<std::int64_t(const PolicyChoice&)>& needed_bytes);

/// The chosen preset, and a sentence with the reason.
struct AutoChoice {
  NamedPreset preset;
  std::string reason;
};

/// The first candidate that fits into free memory, in this order: with native bf16, fast before balanced,
/// otherwise balanced before fast; then memory, then quality. If none fits, the one that needs the least
/// memory. Throws PathNotCompiled if the build holds no preset.
AutoChoice choose_preset(const Machine& machine, std::span<const Candidate> candidates);

}  // namespace precast::cli
