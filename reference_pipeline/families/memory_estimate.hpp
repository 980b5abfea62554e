// What a run will need: a dry run of the pipeline's own code, divided into its components.
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

/// Makes a dry run of what its thread does while it lives, and tells the components in it apart.
class ComponentMeter {
 public:
  explicit ComponentMeter(DryRun::Counts counts) : dry_(counts) {}

  /// A component is about to be loaded: what was counted so far belongs to the one before it.
  void begin(std::string_view component);
  /// It is loaded: what was taken since is its weights.
  void loaded();
  MemoryEstimate estimate();

 private:
  void finish_component();

  DryRun dry_;
  MemoryEstimate estimate_;
  std::string component_;
  std::int64_t before_ = 0, weights_ = 0;
};

/// Throws DoesNotFit, saying which component needs how much, what is free and what to try, where the
/// estimate does not fit into what is free (nothing: unknown). `vae_tiling`: whether the VAE works in bands.
void require_memory(const std::filesystem::path& model, const MemoryEstimate& estimate,
                    const ComponentChoices& choices, bool vae_tiling, std::optional<std::int64_t> free_bytes);

}  // namespace precast::families
