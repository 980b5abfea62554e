// Arranges tensors as they are.
#include <convert/layout.hpp>

namespace precast::conversion {

std::vector<OutputTensor> arranged(const InputWeights& input, std::optional<Layout>) {
  std::vector<OutputTensor> tensors;
  tensors.reserve(input.tensors().size());
  for (const InputTensor& tensor : input.tensors())
    tensors.push_back({tensor.name, tensor.shape, {{&tensor, 0, tensor.shape.elements()}}, {}});
  return tensors;
}

}  // namespace precast::conversion
