// UnpaddedBlocks: the weights of a Flux transformer, those of its blocks without the rows and columns that a
// file padded them with.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <flux/accounting.hpp>
#include <flux/transformer.hpp>

#include <precast/nn/parameter_source.hpp>
#include <precast/nn/without_padding.hpp>

namespace precast::flux {

/// What modules find in a source anyway, for those who ask a matrix for its shape before there is a module:
/// no file says which of its columns are padding, and the config does.
class UnpaddedBlocks final : public nn::ParameterSource {
 public:
  /// `source` must outlive this.
  UnpaddedBlocks(const nn::ParameterSource& source, TransformerConfig config)
      : source_(source), config_(std::move(config)) {}

  bool contains(std::string_view name) const override { return source_.contains(name); }
  nn::Parameter find(std::string_view name) const override {
    nn::Parameter found = source_.find(name);
    const auto shape = block_weight_shape(config_, name);
    if (!shape || !nn::is_padded(found, *shape)) return found;
    return nn::without_padding(std::move(found), *shape);
  }
  bool takes_any_shape() const override { return source_.takes_any_shape(); }
  std::string description() const override { return source_.description(); }
  void taken(std::size_t bytes) const override { source_.taken(bytes); }

 private:
  const nn::ParameterSource& source_;
  TransformerConfig config_;
};

}  // namespace precast::flux
