// Golden data (tests/golden/README.md): diffusers' results for each model folder, and the error of a result
// against them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include <precast/dtype/scalar.hpp>
#include <precast/io/safetensors.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::testing {

/// The folders that diffusers was run on, each of which differs from the others in every dimension.
inline constexpr std::array golden_folders{"dev_f32",        "schnell_bf16", "dev_f16",
                                           "static_sharded", "dev_fp8",      "one_level"};

/// The largest relative error of f32 results against diffusers': the contract's for the whole pipeline's
/// latents, and no larger for a part.
inline constexpr double largest_error = 1e-5;

inline std::filesystem::path golden_model(std::string_view folder) {
  return std::filesystem::path(PRECAST_SOURCE_DIR) / "tests/golden/models" / folder;
}

/// Length of the difference over length of the reference, in f64. Infinite where the sizes differ or a
/// value is not finite, so that it passes no bound.
inline double relative_error(std::span<const double> value, std::span<const double> reference) {
  if (value.size() != reference.size() || value.empty()) return HUGE_VAL;
  double difference = 0, length = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    difference += (value[i] - reference[i]) * (value[i] - reference[i]);
    length += reference[i] * reference[i];
  }
  const double error = std::sqrt(difference / length);
  return std::isfinite(error) ? error : HUGE_VAL;
}
inline double relative_error(std::span<const f32> value, std::span<const double> reference) {
  return relative_error(std::vector<double>(value.begin(), value.end()), reference);
}
inline double relative_error(std::span<const f32> value, std::span<const f32> reference) {
  return relative_error(value, std::vector<double>(reference.begin(), reference.end()));
}

/// The root of the mean of the squares: the error of several runs as one number.
inline double root_mean_square(std::span<const double> errors) {
  double sum = 0;
  for (const double error : errors) sum += error * error;
  return std::sqrt(sum / static_cast<double>(errors.size()));
}

/// A file in tests/golden/expected.
class Golden {
 public:
  explicit Golden(std::string_view name)
      : file_(std::filesystem::path(PRECAST_SOURCE_DIR) / "tests/golden/expected" /
              (std::string(name) + ".safetensors")) {}

  bool has(std::string_view name) const { return file_.lookup(name) != nullptr; }

  /// A tensor of f32, bf16 or f16 as f32 values; its shape without a leading batch of one.
  HostTensor<f32> tensor(std::string_view name) const {
    const io::TensorEntry& entry = file_.at(name);
    std::span<const std::int64_t> sizes = entry.shape.sizes();
    if (sizes.size() > 2 && sizes[0] == 1) sizes = sizes.subspan(1);
    HostTensor<f32> result{Shape(sizes)};
    const bool known = widen<f32>(entry, result) || widen<bf16>(entry, result) || widen<f16>(entry, result);
    if (!known) throw InputError("golden tensor " + entry.name + " is not of f32, bf16 or f16");
    return result;
  }

  /// A picture [1, channels, h, w] of the golden file as [h, w, channels].
  HostTensor<f32> channels_last(std::string_view name) const {
    const HostTensor<f32> first = tensor(name);
    const std::int64_t channels = first.shape()[0], pixels = first.elements() / channels;
    HostTensor<f32> last(Shape{first.shape()[1], first.shape()[2], channels});
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t i = 0; i < pixels; ++i) last.data()[i * channels + c] = first.data()[c * pixels + i];
    return last;
  }

  std::vector<std::int32_t> ids(std::string_view name) const { return copied<std::int32_t>(file_.at(name)); }
  std::vector<std::uint8_t> bytes(std::string_view name) const {
    return copied<std::uint8_t>(file_.at(name));
  }
  std::vector<double> doubles(std::string_view name) const { return copied<double>(file_.at(name)); }
  const Shape& shape(std::string_view name) const { return file_.at(name).shape; }

  /// A fact that is a text as it is ("prompt"), or one that is JSON.
  const std::string& text(const std::string& key) const { return file_.metadata().at(key); }
  nlohmann::json fact(const std::string& key) const { return nlohmann::json::parse(text(key)); }

 private:
  template <class T>
  static std::vector<T> copied(const io::TensorEntry& entry) {
    std::vector<T> values(entry.bytes.size() / sizeof(T));
    std::memcpy(values.data(), entry.bytes.data(), values.size() * sizeof(T));
    return values;
  }
  template <ScalarDtype T>
  static bool widen(const io::TensorEntry& entry, HostTensor<f32>& out) {
    if (entry.dtype.info.name != dtype_traits<T>::name) return false;
    const std::vector<T> values = copied<T>(entry);
    std::ranges::transform(values, out.data(), [](T value) { return convert<f32>(value); });
    return true;
  }

  io::SafetensorsFile file_;
};

}  // namespace precast::testing
