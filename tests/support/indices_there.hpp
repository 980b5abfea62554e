// Row indices in the memory of this translation unit's backend.
#pragma once

#include <cstdint>
#include <vector>

#include <precast/backend.hpp>
#include <precast/memory/buffer.hpp>
#include <precast/tensor/indices.hpp>
#include <precast/tensor/owned_tensor.hpp>

namespace precast::testing {

/// Numbers in the memory of this backend.
template <IndexInteger Number>
class IndicesThere {
 public:
  explicit IndicesThere(const std::vector<Number>& numbers)
      : count_(static_cast<std::int64_t>(numbers.size())), memory_(numbers.size() * sizeof(Number)) {
    memory_.upload(0, numbers.data(), numbers.size() * sizeof(Number));
  }
  Indices<Number> view() const { return {reinterpret_cast<const Number*>(memory_.data()), count_}; }

 private:
  std::int64_t count_;
  BufferIn<backend::Memory> memory_;
};

}  // namespace precast::testing
