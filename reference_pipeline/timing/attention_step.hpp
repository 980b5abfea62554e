// AttentionStep: attention alone, forward and backward, on random operands. Which policies there are is said
// by kernels/attention_timing.cpp, which compiles them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace precast::timing {

/// Self-attention of one head without a mask: queries, keys and values [batch, context, head_width].
struct AttentionSizes {
  std::int64_t batch = 8, context = 256, head_width = 16;
};

class AttentionStep {
 public:
  virtual ~AttentionStep() = default;
  /// Computes the result, and what the backward pass needs beside it.
  virtual void forward() = 0;
  /// Computes the gradients of queries, keys and values; after forward().
  virtual void backward() = 0;
};

/// A policy that attention is measured under.
struct AttentionPolicy {
  std::string policy;  ///< "f32"
  std::string kind;    ///< "plain" or "flash"
  std::unique_ptr<AttentionStep> (*make)(const AttentionSizes& sizes) = nullptr;
};

/// Those that this build holds for the CPU: f32, bf16 and f16, plain and flash, of the precisions that are
/// compiled.
const std::vector<AttentionPolicy>& attention_policies();
/// The same for CUDA devices. Only builds with CUDA have them.
const std::vector<AttentionPolicy>& cuda_attention_policies();

}  // namespace precast::timing
