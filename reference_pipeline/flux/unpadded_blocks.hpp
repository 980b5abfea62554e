// UnpaddedBlocks: the weights of a Flux transformer, those of its blocks without the rows and columns that
// a file padded them with.
#pragma once

#include <string_view>
#include <utility>

#include <flux/accounting.hpp>
#include <flux/transformer.hpp>

#include <precast/nn/parameter_source.hpp>
#include <precast/nn/without_padding.hpp>

namespace precast::flux {

/// Gives matrices the shapes that modules read, for callers that need a shape before there is a module: no
/// file says which columns are padding, but the config does.
class UnpaddedBlocks final : public nn::ForwardingSource {
 public:
  /// `source` must outlive this.
  UnpaddedBlocks(const nn::ParameterSource& source, TransformerConfig config)
      : ForwardingSource(source), config_(std::move(config)) {}

  nn::Parameter find(std::string_view name) const override {
    nn::Parameter found = original().find(name);
    const auto shape = block_weight_shape(config_, name);
    if (!shape || !nn::is_padded(found, *shape)) return found;
    return nn::without_padding(std::move(found), *shape);
  }

 private:
  TransformerConfig config_;
};

}  // namespace precast::flux
