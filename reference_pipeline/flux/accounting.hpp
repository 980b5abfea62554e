// Counts which of a Flux transformer's parameters a cast can reach: the accounting that casting reports are
// weighted by.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <flux/transformer.hpp>

#include <precast/tensor/shape.hpp>

namespace precast::flux {

/// Parameters of a Flux transformer by what a cast may do with them.
struct Accounting {
  std::int64_t double_blocks = 0, single_blocks = 0;
  std::int64_t double_block_weights = 0;  ///< matrices of one double block
  std::int64_t single_block_weights = 0;  ///< matrices of one single block
  std::int64_t block_biases = 0;          ///< of all blocks
  std::int64_t norm_scales = 0;           ///< of the query and key norms in all blocks: never cast
  std::int64_t entry_and_exit = 0;        ///< embedders and the final layer, with their biases: never cast
  std::int64_t entry_and_exit_biases = 0;

  friend bool operator==(const Accounting&, const Accounting&) = default;

  /// The matrices of all blocks, which are what a file patched in from GGUF quantises.
  std::int64_t block_weights() const {
    return double_blocks * double_block_weights + single_blocks * single_block_weights;
  }
  std::int64_t biases() const { return block_biases + entry_and_exit_biases; }
  /// What the reports count as reached by quantising on the fly: block weights and all biases, those of
  /// entry and exit too, although their layers are not cast (for Flux.1-dev 30,784).
  std::int64_t quantisable() const { return block_weights() + biases(); }
  std::int64_t parameters() const { return block_weights() + block_biases + norm_scales + entry_and_exit; }
};

/// The accounting of a config, without weights.
Accounting account(const TransformerConfig& config);

/// The shape of a block's matrix by its diffusers name; nothing where the name is not of a block's matrix.
std::optional<Shape> block_weight_shape(const TransformerConfig& config, std::string_view tensor_name);

}  // namespace precast::flux
