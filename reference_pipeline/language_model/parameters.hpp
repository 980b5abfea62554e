// The parameters of a language model: their names in transformers' files, shapes, and initial values.
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
  bool transposed = false;  ///< stored as [in, out], as in GPT-2's Conv1D
  double deviation = 0;     ///< of normal initial values; 0: all are `first_value`
  f32 first_value = 0;

  bool is_matrix() const { return shape.rank() == 2; }
  /// The shape in files.
  Shape stored_shape() const { return transposed ? Shape{shape[1], shape[0]} : shape; }
};

/// All parameters, in the model's order. A tied head is not a parameter.
std::vector<ParameterFacts> parameters_of(const LanguageModelConfig& config);
/// The number of values of all parameters.
std::int64_t elements_of(const LanguageModelConfig& config);

/// The values of all parameters, each in the order of its `shape`.
using ParameterValues = std::vector<std::vector<f32>>;
/// Returns the values of one parameter, by its index in parameters_of(). The model calls it for one
/// parameter after another, so that not all values need to be in memory. Empty in a dry run.
using ValuesOf = std::function<std::vector<f32>(std::size_t)>;

/// Initial values distributed as in transformers: normal with deviation 0.02, less for GPT-2's residual
/// projections; ones for norms, zeros for biases. Drawn by PyTorch's generator from the seed.
ParameterValues initial_values(const std::vector<ParameterFacts>& parameters, std::uint64_t seed);

/// Reads the weights of a transformers folder, model.safetensors or shards with an index, of any scalar
/// dtype. Throws InputError that names file and tensor.
ParameterValues read_values(const std::filesystem::path& folder, const LanguageModelConfig& config);

/// The tensors of that folder that are not parameters of the model: of layers or biases that the config
/// lacks, or of another head. Buffers that transformers recomputes do not count. Throws what read_values
/// throws.
std::vector<std::string> unread_tensors(const std::filesystem::path& folder,
                                        const LanguageModelConfig& config);

/// The transpose of values [rows, columns].
std::vector<f32> turned(const std::vector<f32>& values, const Shape& shape);

}  // namespace precast::language_model
