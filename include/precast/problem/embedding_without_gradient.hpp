// The id that a token has whose embedding learns nothing.
#pragma once

#include <cstdint>

namespace precast {

/// In place of an id whose row of an embedding's table gets no gradient: PyTorch's `padding_idx`.
inline constexpr std::int32_t embedding_without_gradient = -1;

}  // namespace precast
