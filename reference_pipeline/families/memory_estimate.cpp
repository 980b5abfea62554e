// Adds up what components need.
#include <algorithm>

#include <families/request.hpp>

namespace precast::families {

std::int64_t MemoryEstimate::peak() const {
  std::int64_t most = 0;
  for (const ComponentMemory& part : components) most = std::max(most, part.weights + part.activations);
  return most;
}

}  // namespace precast::families
