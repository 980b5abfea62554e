// `--preset auto`: which preset suits this machine and this model, and why.
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

/// What `auto` looks at.
struct Machine {
  std::int64_t free_bytes = 0;         ///< memory that a program can still take; 0 where that is unknown
  bool native_bf16 = false;            ///< it multiplies bf16 itself (a CPU: avx512_bf16 or AMX)
  std::string_view what = "this CPU";  ///< what does
};

/// This machine, as far as models on a device see it.
Machine machine_of(const families::ChosenDevice& device);

/// A preset and the memory that the model needs under it; 0 where there is no model to ask.
struct Candidate {
  NamedPreset preset;
  std::int64_t needed_bytes = 0;
};

/// The presets that this build holds; `needed_bytes` tells what the model needs under a preset.
std::vector<Candidate> compiled_candidates(
    const std::function<std::int64_t(const PolicyChoice&)>& needed_bytes);

/// What was chosen, and a sentence that says why.
struct AutoChoice {
  NamedPreset preset;
  std::string reason;
};

/// The first that fits into free memory: fast before balanced where the CPU has bf16, balanced before fast
/// where bf16 would be emulated, then memory, then quality. Where none fits, the one that needs least. Throws
/// PathNotCompiled where the build holds no preset.
AutoChoice choose_preset(const Machine& machine, std::span<const Candidate> candidates);

}  // namespace precast::cli
