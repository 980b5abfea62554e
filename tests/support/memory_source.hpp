// MemorySource: parameters that a test defines, in any file dtype.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/nn/parameter_source.hpp>
#include <precast/tensor/block_view.hpp>

namespace precast::testing {

class MemorySource final : public nn::ParameterSource {
 public:
  /// Adds a tensor of these values, each rounded to T. The bytes are misaligned by one, as a file's may be.
  template <ScalarDtype T>
  void add(const std::string& name, const Shape& shape, std::span<const f32> values) {
    Entry entry{dtype_info<T>, shape, std::vector<std::byte>(values.size() * sizeof(T) + 1)};
    for (std::size_t i = 0; i < values.size(); ++i) {
      const T value = convert<T>(values[i]);
      std::memcpy(entry.bytes.data() + 1 + i * sizeof(T), &value, sizeof(T));
    }
    entries_[name] = std::move(entry);
  }
  /// Adds a matrix in blocks along its rows.
  template <BlockDtype T>
  void add(const std::string& name, const Shape& shape, HostStoredView<const T> blocks) {
    Entry entry{dtype_info<T>, shape, std::vector<std::byte>(static_cast<std::size_t>(blocks.bytes()) + 1)};
    std::memcpy(entry.bytes.data() + 1, blocks.data(), entry.bytes.size() - 1);
    entries_[name] = std::move(entry);
  }
  /// Adds a tensor whose dtype holds no weights.
  void add_without_weights(const std::string& name, const Shape& shape, std::string_view dtype_of_8_bytes) {
    entries_[name] = {{dtype_of_8_bytes, 1, 8},
                      shape,
                      std::vector<std::byte>(static_cast<std::size_t>(shape.elements()) * 8 + 1)};
  }

  bool contains(std::string_view name) const override { return entries_.contains(name); }
  nn::Parameter find(std::string_view name) const override {
    const auto found = entries_.find(name);
    if (found == entries_.end()) throw InputError("memory: no tensor '" + std::string(name) + "'");
    return {found->second.dtype, found->second.shape, std::span(found->second.bytes).subspan(1)};
  }
  std::string description() const override { return "memory"; }
  void taken(std::size_t bytes) const override { taken_ += bytes; }

  /// Bytes that modules have taken.
  std::size_t bytes_taken() const { return taken_; }
  /// Bytes of all tensors.
  std::size_t total_bytes() const {
    std::size_t total = 0;
    for (const auto& [name, entry] : entries_) total += entry.bytes.size() - 1;
    return total;
  }

 private:
  struct Entry {
    DtypeInfo dtype;
    Shape shape;
    std::vector<std::byte> bytes;
  };
  std::map<std::string, Entry, std::less<>> entries_;
  mutable std::size_t taken_ = 0;
};

}  // namespace precast::testing
