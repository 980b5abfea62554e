// The index of a token whose embedding gets no gradient.
#pragma once

#include <cstdint>

namespace precast {

/// Replaces an index whose row of an embedding table gets no gradient: PyTorch's `padding_idx`.
inline constexpr std::int32_t embedding_without_gradient = -1;

}  // namespace precast
