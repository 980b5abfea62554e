// Access to single blocks of a Flux transformer: records their states during generation, and loads them to
// be run and changed.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <families/block_listing.hpp>
#include <flux/models.hpp>
#include <flux/pipeline_parts.hpp>
#include <flux/unpadded_blocks.hpp>

namespace precast::flux {

namespace {

class FluxBlocks final : public families::Blocks {
 public:
  FluxBlocks(const TransformerConfig& config, const Models& models,
             std::unique_ptr<families::DeviceSession> session, std::unique_ptr<nn::ParameterSource> source)
      : session_(std::move(session)), source_(std::move(source)), unpadded_(*source_, config) {
    const families::ListingSource listing(unpadded_);
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
  families::require_recording(recording);
  const auto session = parts_->backend.start();
  Run(*parts_, with_defaults(request), request, {progress}, &recording).denoise_all();
}

std::unique_ptr<nn::ParameterSource> FluxPipeline::other_weights(const std::filesystem::path& file) const {
  return std::make_unique<ComponentWeights>(file, weights::Part::transformer);
}

std::unique_ptr<families::Blocks> FluxPipeline::load_blocks(const ProgressCallback& progress) const {
  auto session = parts_->backend.start();
  return families::load_blocks(
      "load transformer", progress,
      [&](io::TakenCallback on_taken) {
        return std::make_unique<ComponentWeights>(parts_->model.component("transformer"),
                                                  weights::Part::transformer, std::move(on_taken));
      },
      [&](std::unique_ptr<nn::ParameterSource> source) {
        return std::make_unique<FluxBlocks>(parts_->model.transformer,
                                            models_of(parts_->backend, parts_->choices.denoiser),
                                            std::move(session), std::move(source));
      });
}

}  // namespace precast::flux
