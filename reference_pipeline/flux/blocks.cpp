// The blocks of a Flux transformer one by one: recorded on the way to pictures, and loaded to be run and
// changed.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <families/request_error.hpp>
#include <flux/accounting.hpp>
#include <flux/models.hpp>
#include <flux/pipeline_parts.hpp>
#include <flux/unpadded_blocks.hpp>

namespace precast::flux {

namespace {

/// A source that keeps what was found in it, in order.
class ListingSource final : public nn::ForwardingSource {
 public:
  explicit ListingSource(const nn::ParameterSource& source) : ForwardingSource(source) {}

  nn::Parameter find(std::string_view name) const override {
    nn::Parameter found = original().find(name);
    found_.push_back({std::string(name), found.shape, found.dtype, families::BlockParameterRole::matrix});
    return found;
  }

  /// Those of a block, by the beginning of their names.
  families::Block block(const std::string& name) const {
    families::Block block{name, {}};
    for (families::BlockParameter parameter : found_) {
      if (!parameter.name.starts_with(name + '.')) continue;
      const ParameterRole role = role_of(parameter.name);
      parameter.role = role == ParameterRole::block_bias   ? families::BlockParameterRole::bias
                       : role == ParameterRole::norm_scale ? families::BlockParameterRole::norm_scale
                                                           : families::BlockParameterRole::matrix;
      block.parameters.push_back(std::move(parameter));
    }
    return block;
  }

 private:
  mutable std::vector<families::BlockParameter> found_;
};

class FluxBlocks final : public families::Blocks {
 public:
  FluxBlocks(const TransformerConfig& config, const Models& models,
             std::unique_ptr<families::DeviceSession> session, std::unique_ptr<nn::ParameterSource> source)
      : session_(std::move(session)), source_(std::move(source)), unpadded_(*source_, config) {
    const ListingSource listing(unpadded_);
    transformer_ = models.transformer(config, listing);
    for (std::int64_t i = 0; i < config.num_layers; ++i)
      blocks_.push_back(listing.block("transformer_blocks." + std::to_string(i)));
    for (std::int64_t i = 0; i < config.num_single_layers; ++i)
      blocks_.push_back(listing.block("single_transformer_blocks." + std::to_string(i)));
  }

  const std::vector<families::Block>& list() const override { return blocks_; }
  const nn::ParameterSource& source() const override { return unpadded_; }
  void run(families::BlockState& state, std::int64_t first, std::int64_t last) const override {
    transformer_->run_blocks(state, first, last);
  }
  void replace(std::int64_t block, const nn::ParameterSource& weights) override {
    transformer_->replace_block(block, weights);
  }

 private:
  std::unique_ptr<families::DeviceSession> session_;
  std::unique_ptr<nn::ParameterSource> source_;
  UnpaddedBlocks unpadded_;
  std::unique_ptr<BlockwiseTransformer> transformer_;
  std::vector<families::Block> blocks_;
};

}  // namespace

void FluxPipeline::record(const Request& request, const families::Recording& recording,
                          const ProgressCallback& progress) const {
  check(request);
  if (recording.every < 1)
    throw families::RequestError("steps between recorded states are " + std::to_string(recording.every) +
                                 ": they must be at least 1");
  const auto session = parts_->backend.start();
  parts_->record(with_defaults(request), request, recording, {progress});
}

std::unique_ptr<nn::ParameterSource> FluxPipeline::other_weights(const std::filesystem::path& file) const {
  return std::make_unique<ComponentWeights>(file, weights::Part::transformer);
}

std::unique_ptr<families::Blocks> FluxPipeline::load_blocks(const ProgressCallback& progress) const {
  auto session = parts_->backend.start();
  const auto told = std::make_shared<std::pair<std::int64_t, std::int64_t>>();  // bytes taken, of how many
  auto source = std::make_unique<ComponentWeights>(
      parts_->model.component("transformer"), weights::Part::transformer, [=](std::size_t bytes) {
        told->first += static_cast<std::int64_t>(bytes);
        if (progress && told->first < told->second) progress({"load transformer", told->first, told->second});
      });
  const auto total = static_cast<std::int64_t>(source->bytes_to_take());
  told->second = total;
  auto blocks = std::make_unique<FluxBlocks>(parts_->model.transformer,
                                             models_of(parts_->backend, parts_->choices.denoiser),
                                             std::move(session), std::move(source));
  told->second = 0;  // what is loaded again later is no progress of this
  if (progress) progress({"load transformer", total, total});
  return blocks;
}

}  // namespace precast::flux
