// write_importance: what an Importance is read from, of inputs that were counted while a model ran.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include <precast/watch/input_squares.hpp>

namespace precast::conversion {

/// Writes a GGUF file of general.type `imatrix`, F32: NAME.in_sum2 [1, columns], the sum of the squares of
/// what met each column of a matrix, and NAME.counts [1, 1], the rows that were summed. The matrices are
/// those of the component whose scope is the first part of their path ("transformer"); NAME is what the
/// component's weights call them, "proj_out.weight". A matrix of Flux stands there once more under BFL's name
/// for it, by which tools look it up that do not know diffusers'. `dataset` says what the model was run on.
/// Returns how many matrices there are. Throws InputError that names the file, and the matrix and the column
/// whose sum is not finite; and where the component has no matrix.
std::size_t write_importance(const std::filesystem::path& path, const watch::InputSquares& squares,
                             std::string_view component, const std::string& dataset);

}  // namespace precast::conversion
