// The blocks of a Flux transformer as work: their tensors, operations and positions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <common/parameters.hpp>
#include <common/work.hpp>
#include <flux/transformer.hpp>
#include <support/random_model.hpp>

#include <precast/ops/rotary_table.hpp>

namespace precast::bench {

/// How many tokens meet in attention.
struct Tokens {
  std::int64_t text = 0, image = 0;
  std::int64_t all() const { return text + image; }
};

/// The tensors of a block alone.
inline testing::TensorShapes tensors_under(const std::string& prefix, const flux::TransformerConfig& config) {
  testing::TensorShapes all = testing::tensors_of(config), kept;
  for (const auto& [name, shape] : all)
    if (name.starts_with(prefix)) kept.emplace(name, shape);
  return kept;
}

/// The angles of text at the origin, and of a picture that is as square as its tokens allow.
inline RotaryTable positions(const flux::TransformerConfig& config, const Tokens& tokens) {
  std::vector<f32> ids(static_cast<std::size_t>(3 * tokens.text), 0.0f);
  std::int64_t side = 1;
  while (side * side < tokens.image) ++side;
  for (std::int64_t token = 0; token < tokens.image; ++token)
    for (const std::int64_t id : std::array<std::int64_t, 3>{0, token / side, token % side})
      ids.push_back(static_cast<f32>(id));
  return rotary_table(config.axes_dims_rope, 10000, ids);
}

/// The linear layers of a block on the tokens that share weights.
inline LinearShapes layers_of(std::int64_t tokens, std::int64_t inner, bool single) {
  LinearShapes layers(single ? 3 : 4, LinearShape{tokens, inner, inner});
  layers.push_back({tokens, inner, 4 * inner});
  layers.push_back({tokens, (single ? 5 : 4) * inner, inner});
  return layers;
}

/// What a block does on tokens. In a single block text and image share weights, in a double block each has
/// its own.
inline Work work_of_block(const flux::TransformerConfig& config, bool single, const Tokens& tokens) {
  const std::int64_t inner = config.inner_dim();
  Work work;
  if (single) {
    work.layers = layers_of(tokens.all(), inner, true);
  } else {
    work.layers = layers_of(tokens.text, inner, false);
    const LinearShapes image = layers_of(tokens.image, inner, false);
    work.layers.insert(work.layers.end(), image.begin(), image.end());
  }
  work.other_products = 4.0 * static_cast<double>(tokens.all() * tokens.all() * inner);
  return work;
}

}  // namespace precast::bench
