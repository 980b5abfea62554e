// Estimates the memory of a run by a dry run of the pipeline's own code, separately for each component.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <families/choices.hpp>
#include <families/request.hpp>

#include <precast/memory/dry_run.hpp>

namespace precast::families {

/// Makes its thread's work a dry run while it lives, and counts the memory of each component.
class ComponentMeter {
 public:
  explicit ComponentMeter(DryRun::Counts counts) : dry_(counts) {}

  /// Call before a component is loaded: memory counted so far belongs to the component before it.
  void begin(std::string_view component);
  /// Call after it is loaded: memory taken since `begin` is its weights.
  void loaded();
  MemoryEstimate estimate();

 private:
  void finish_component();

  DryRun dry_;
  MemoryEstimate estimate_;
  std::string component_;
  std::int64_t before_ = 0, weights_ = 0;
};

/// Throws DoesNotFit where the estimate is above `free_bytes` (nothing: unknown); the message says which
/// component needs how much, what is free and what to try. `vae_tiling`: whether the VAE works in bands.
void require_memory(const std::filesystem::path& model, const MemoryEstimate& estimate,
                    const ComponentChoices& choices, bool vae_tiling, std::optional<std::int64_t> free_bytes);

}  // namespace precast::families
