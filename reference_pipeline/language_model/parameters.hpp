// The parameters of a language model: their names in transformers' files, their shapes, and first values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <language_model/config.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/tensor/shape.hpp>

namespace precast::language_model {

struct ParameterFacts {
  std::string name;         ///< in model.safetensors
  Shape shape;              ///< [out, in] of a linear layer, [entries, width] of a table, [width] of a vector
  bool transposed = false;  ///< files hold it as [in, out], as GPT-2's Conv1D
  double deviation = 0;     ///< of its first values, which are normal; 0: all are `first_value`
  f32 first_value = 0;

  bool is_matrix() const { return shape.rank() == 2; }
  /// The shape that files have.
  Shape stored_shape() const { return transposed ? Shape{shape[1], shape[0]} : shape; }
};

/// All parameters, in the order in which the model takes them. A tied head is not one.
std::vector<ParameterFacts> parameters_of(const LanguageModelConfig& config);
/// How many values they have together.
std::int64_t elements_of(const LanguageModelConfig& config);

/// The values of all parameters, each in the order of its `shape`.
using ParameterValues = std::vector<std::vector<f32>>;
/// Those of one parameter, by its place in parameters_of(); a model asks for one after another, so that not
/// all need to be there beside its own. In a dry run none.
using ValuesOf = std::function<std::vector<f32>(std::size_t)>;

/// First values as transformers draws them, in kind: normal ones of deviation 0.02, less for what ends in the
/// residual stream of GPT-2; ones for norms, zeros for biases. Drawn by PyTorch's generator from the seed.
ParameterValues initial_values(const std::vector<ParameterFacts>& parameters, std::uint64_t seed);

/// Reads a transformers folder's weights, model.safetensors or shards with an index, of any scalar dtype.
/// Throws InputError that names file and tensor.
ParameterValues read_values(const std::filesystem::path& folder, const LanguageModelConfig& config);

/// The tensors of that folder which are no parameters of the model: of layers or biases that the config does
/// not have, or of another head. Buffers that transformers computes anew are none. Throws what read_values
/// does.
std::vector<std::string> unread_tensors(const std::filesystem::path& folder,
                                        const LanguageModelConfig& config);

/// Values [rows, columns] turned over.
std::vector<f32> turned(const std::vector<f32>& values, const Shape& shape);

}  // namespace precast::language_model
