// OutputTensor: a tensor to write, and the parts of the input that it is put together from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <convert/input_weights.hpp>
#include <convert/type_choice.hpp>

namespace precast::conversion {

/// Values of an input tensor that follow each other, row after row.
struct Piece {
  const InputTensor* from = nullptr;
  std::int64_t first = 0, count = 0;
};

/// A tensor of the output: its pieces, one after another, are all its values.
struct OutputTensor {
  std::string name;
  Shape shape;
  std::vector<Piece> pieces;
  ChosenType chosen;
  /// Diffusers' and transformers' names of it (diffusers_names).
  std::vector<std::string> other_names{};

  /// The rest of a piece from value `first` of the tensor on.
  Piece piece_at(std::int64_t first) const {
    auto piece = pieces.begin();
    for (; first >= piece->count; ++piece) first -= piece->count;
    return {piece->from, piece->first + first, piece->count - first};
  }
};

}  // namespace precast::conversion
