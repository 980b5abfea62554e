// Weights that are not stored: tests/golden/make_unets.py and this header generate them from tensor names.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <precast/dtype/scalar.hpp>
#include <precast/error.hpp>
#include <precast/nn/parameter_source.hpp>
#include <precast/tensor/shape.hpp>

namespace precast::testing {

/// Values in [-1, 1): 24 bits each of SplitMix64, which starts with the name's 64-bit FNV-1a.
inline std::vector<f32> generated_values(std::string_view name, std::int64_t count) {
  std::uint64_t state = 0xcbf29ce484222325;
  for (const char character : name) state = (state ^ static_cast<unsigned char>(character)) * 0x100000001b3;
  std::vector<f32> values(static_cast<std::size_t>(count));
  for (f32& value : values) {
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    value = static_cast<f32>(static_cast<std::int64_t>(z >> 40) - (std::int64_t{1} << 23)) * 0x1p-23f;
  }
  return values;
}

/// A tensor's values as make_unets.py scales them: matrices and convolutions by their inputs, norms around 1.
inline std::vector<f32> generated_weight(std::string_view prefix, std::string_view name, const Shape& shape) {
  std::vector<f32> values = generated_values(std::string(prefix) + "." + std::string(name), shape.elements());
  if (shape.rank() > 1) {
    const auto inputs = static_cast<double>(shape.elements() / shape[0]);
    for (f32& value : values) value *= static_cast<f32>(std::sqrt(3.0 / inputs));
  } else {
    const bool scale = name.find("norm") != std::string_view::npos && name.ends_with("weight");
    for (f32& value : values) value = value * 0.25f + (scale ? 1.0f : 0.0f);
  }
  return values;
}

/// A source of such weights.
class GeneratedSource final : public nn::ParameterSource {
 public:
  GeneratedSource(std::string prefix, std::map<std::string, Shape, std::less<>> shapes)
      : prefix_(std::move(prefix)), shapes_(std::move(shapes)) {}

  bool contains(std::string_view name) const override { return shapes_.contains(name); }
  nn::Parameter find(std::string_view name) const override {
    const auto found = shapes_.find(name);
    if (found == shapes_.end()) throw InputError("generated weights: no tensor '" + std::string(name) + "'");
    std::vector<f32>& values = values_[found->first];
    if (values.empty()) values = generated_weight(prefix_, name, found->second);
    return {dtype_info<f32>, found->second, std::as_bytes(std::span(values))};
  }
  std::string description() const override { return "generated weights"; }
  void taken(std::size_t) const override {}
  /// Whether a module has asked for every tensor.
  bool all_taken() const { return values_.size() == shapes_.size(); }

 private:
  std::string prefix_;
  std::map<std::string, Shape, std::less<>> shapes_;
  mutable std::map<std::string, std::vector<f32>, std::less<>> values_;
};

}  // namespace precast::testing
