// Columns that a matrix was padded with as it was quantised: no file says which those are.
#pragma once

#include <cstdint>
#include <set>

#include <weights/weight_tensors.hpp>

namespace precast::conversion {

/// A matrix' padding, as far as it is known.
struct Padding {
  std::int64_t zeros = 0;    ///< columns at the end that are 0 in every row, fewer than a matrix is padded to
  std::int64_t columns = 0;  ///< those that it had; 0 where nothing says how many
};

/// Looks for columns of zeros at the end of a matrix that may have been padded, and for what says how many of
/// them the layer had: its inputs are what another layer gives, so that a bias or a norm's scales of the same
/// file are as long. `lengths` are those of all of its tensors of one dimension. Reads values: of a matrix
/// whose last column is not 0 a row or two.
Padding padding_of(const weights::WeightTensor& weight, const std::set<std::int64_t>& lengths);

/// The matrix with its first columns alone.
weights::WeightTensor first_columns(const weights::WeightTensor& weight, std::int64_t columns);

}  // namespace precast::conversion
