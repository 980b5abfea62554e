// Blocks: the middle of a denoiser, run between states that can be kept, with weights that can be exchanged.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <precast/nn/parameter_source.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::families {

/// The state that a denoiser's blocks pass on to each other, in f32, which holds the values of a narrower
/// policy exactly. Transformers have positions, and UNets a prompt and skips.
struct BlockState {
  /// The hidden state: for a transformer [text tokens + image tokens, width], text first; for a UNet
  /// [pictures, height, width, channels].
  HostTensor<f32> hidden;
  std::int64_t text_tokens = 0;  ///< of a transformer's hidden state
  /// The time embedding of all blocks: for a transformer [1, width], with guidance and pooled text, before
  /// the silu; for a UNet [pictures or 1, width], with its other conditioning, after the silu.
  HostTensor<f32> vec;
  HostTensor<f32> positions;  ///< of all tokens, [tokens, axes], from which rotary angles are computed
  HostTensor<f32> prompt{};   ///< of a UNet's cross-attention, [pictures, text tokens, width]
  /// What earlier blocks of a UNet left for later ones, the latest last. None before the first block.
  std::vector<std::shared_ptr<const HostTensor<f32>>> skips{};

  /// A deep copy, except that skips, which are immutable, are shared.
  BlockState clone() const {
    return {hidden.clone(), text_tokens, vec.clone(), positions.clone(), prompt.clone(), skips};
  }
};

/// The state before the first block at one step of a picture.
struct RecordedState {
  BlockState state;
  std::int64_t picture = 0;  ///< its number among those of the request, prompt by prompt
  std::int64_t step = 0;     ///< from 0
  f32 timestep = 0;          ///< as the model takes it: about 1 is pure noise, 0 the picture
};

/// A request to be given such states while pictures are denoised.
struct Recording {
  std::int64_t every = 1;  ///< steps from one state to the next, beginning with the first step
  std::function<void(RecordedState)> take;
};

/// What a cast may do with a parameter of a block.
enum class BlockParameterRole : std::uint8_t { matrix, bias, norm_scale };

/// A parameter of a block.
struct BlockParameter {
  std::string name;  ///< as it is found in the weights
  Shape shape;
  DtypeInfo dtype;  ///< as the weights have it
  BlockParameterRole role;
};

/// A block: its place in the model ("transformer_blocks.0"), and what it is made from.
struct Block {
  std::string name;
  std::vector<BlockParameter> parameters;
};

/// The loaded blocks of a denoiser. To be used from one thread.
class Blocks {
 public:
  virtual ~Blocks() = default;
  /// The blocks in the order in which they run.
  virtual const std::vector<Block>& list() const = 0;
  /// The weights that the blocks were loaded from.
  virtual const nn::ParameterSource& source() const = 0;
  /// Runs blocks `first` to `last` - 1 on a state. However a whole run is split, its result is the same bit
  /// for bit. Throws ShapeError where the state is not this model's.
  virtual void run(BlockState& state, std::int64_t first, std::int64_t last) const = 0;
  /// Loads one block anew, from other weights of the same names.
  virtual void replace(std::int64_t block, const nn::ParameterSource& weights) = 0;
};

}  // namespace precast::families
