// What a run will need, from configs alone, before anything is loaded.
#pragma once

#include <cstdint>
#include <optional>

#include <flux/model_folder.hpp>
#include <flux/pipeline.hpp>

namespace precast::flux {

/// The sizes that memory depends on.
struct RunSize {
  std::int64_t clip_tokens = 0;
  std::int64_t t5_tokens = 0;
  std::int64_t image_tokens = 0;
  std::int64_t latent_height = 0, latent_width = 0;
  std::int64_t pictures = 0;
  bool encodes_image = false;
};

MemoryEstimate estimate_memory(const ModelFolder& model, const ComponentChoices& choices,
                               const RunSize& size);

/// Throws OutOfMemory, saying which component needs how much, what is free and what to try, where the model's
/// estimate does not fit into what is free (nothing: unknown).
void require_memory(const ModelFolder& model, const MemoryEstimate& estimate, const ComponentChoices& choices,
                    std::optional<std::int64_t> free_bytes);

}  // namespace precast::flux
