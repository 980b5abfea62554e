// BlockSource: the parameters of another source, with matrices in blocks of a format that a test chooses,
// or the values of these blocks in f32.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/dtype/decode_run.hpp>
#include <precast/nn/parameters.hpp>
#include <precast/quant/encode.hpp>

namespace precast::testing {

/// The bytes of rows of values in a block format, which has a reference encoder.
inline std::vector<std::byte> encoded(std::string_view format, std::span<const f32> values) {
  std::vector<std::byte> bytes;
  visit_block_format(format, [&]<class Format>(std::type_identity<Format>) {
    std::vector<Format> blocks(values.size() / dtype_traits<Format>::values_per_block);
    quant::encode<Format>(values, blocks);
    const auto encoded_bytes = std::as_bytes(std::span(blocks));
    bytes.assign(encoded_bytes.begin(), encoded_bytes.end());
  });
  return bytes;
}

/// The values of whole blocks, by decode_run.
inline std::vector<f32> decoded(std::string_view format, std::span<const std::byte> bytes) {
  std::vector<f32> values;
  visit_block_format(format, [&]<class Format>(std::type_identity<Format>) {
    std::vector<Format> blocks(bytes.size() / sizeof(Format));
    std::ranges::copy(bytes, std::as_writable_bytes(std::span(blocks)).begin());
    values.resize(blocks.size() * dtype_traits<Format>::values_per_block);
    decode_run<Format>(blocks.data(), 0, static_cast<std::int64_t>(values.size()), values.data());
  });
  return values;
}

/// The facts of the block format of that name.
inline DtypeInfo facts_of(std::string_view format) {
  DtypeInfo info;
  visit_block_format(format, [&]<class Format>(std::type_identity<Format>) { info = dtype_info<Format>; });
  return info;
}

class BlockSource final : public nn::ParameterSource {
 public:
  /// Chooses the format of a matrix by name and shape; "" leaves it as it is.
  using Choose = std::function<std::string_view(std::string_view, const Shape&)>;
  enum class Give : bool { blocks, values };

  BlockSource(const nn::ParameterSource& source, Choose choose)
      : source_(source), choose_(std::move(choose)) {}

  /// Whether matrices are given in blocks, or as the values of these blocks in f32.
  void give(Give what) { give_ = what; }
  /// Calls visit(values, bytes of its blocks) for each matrix that was asked for in blocks.
  template <class Visit>
  void for_each_matrix(Visit&& visit) const {
    for (const auto& [name, matrix] : matrices_) visit(matrix.values.size(), matrix.blocks.size());
  }

  bool contains(std::string_view name) const override { return source_.contains(name); }
  nn::Parameter find(std::string_view name) const override {
    nn::Parameter found = source_.find(name);
    if (found.shape.rank() != 2) return found;
    const std::string_view format = choose_(name, found.shape);
    if (format.empty()) return found;
    Matrix& matrix = matrices_[std::string(name)];
    if (matrix.blocks.empty()) {
      const auto values =
          nn::load_host_tensor<f32>(nn::ParameterPath(source_, std::string(name)), found.shape);
      matrix.blocks = encoded(format, values.values());
      matrix.values = decoded(format, matrix.blocks);
    }
    if (give_ == Give::blocks) return {facts_of(format), found.shape, matrix.blocks};
    return {dtype_info<f32>, found.shape, std::as_bytes(std::span(matrix.values))};
  }
  std::string description() const override { return "blocks of " + source_.description(); }
  void taken(std::size_t) const override {}

 private:
  struct Matrix {
    std::vector<std::byte> blocks;
    std::vector<f32> values;
  };

  const nn::ParameterSource& source_;
  Choose choose_;
  Give give_ = Give::blocks;
  mutable std::map<std::string, Matrix, std::less<>> matrices_;
};

}  // namespace precast::testing
