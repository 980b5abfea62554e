// The blocks of a UNet, which are its stages: recorded during sampling, and loaded to be run and replaced
// one by one.
#include <memory>
#include <utility>
#include <vector>

#include <families/block_listing.hpp>
#include <families/request_error.hpp>
#include <stable_diffusion/models.hpp>
#include <stable_diffusion/pipeline_parts.hpp>
#include <stable_diffusion/unet_stages.hpp>

namespace precast::stable_diffusion {

namespace {

class UNetBlocks final : public families::Blocks {
 public:
  UNetBlocks(const UNetConfig& config, const Models& models, std::unique_ptr<families::DeviceSession> session,
             std::unique_ptr<nn::ParameterSource> source)
      : session_(std::move(session)), source_(std::move(source)) {
    const families::ListingSource listing(*source_);
    denoiser_ = models.denoiser(config, listing);
    for (const UNetStage& stage : stages_of(config)) blocks_.push_back(listing.block(stage.place));
  }

  const std::vector<families::Block>& list() const override { return blocks_; }
  const nn::ParameterSource& source() const override { return *source_; }
  void run(families::BlockState& state, std::int64_t first, std::int64_t last) const override {
    denoiser_->unet().run_blocks(state, first, last);
  }
  void replace(std::int64_t block, const nn::ParameterSource& weights) override {
    denoiser_->unet().replace_block(block, weights);
  }

 private:
  std::unique_ptr<families::DeviceSession> session_;
  std::unique_ptr<nn::ParameterSource> source_;
  std::unique_ptr<Denoiser> denoiser_;
  std::vector<families::Block> blocks_;
};

}  // namespace

void StableDiffusionPipeline::record(const Request& request, const families::Recording& recording,
                                     const families::ProgressCallback& progress) const {
  check(request);
  families::require_recording(recording);
  if (request.refiner)
    throw families::RequestError(
        "states are recorded of one model: leave out the refiner, or record it by "
        "itself");
  const auto session = parts_->backend.start();
  Run(*parts_, with_defaults(request), request, nullptr, {progress}, &recording).denoise_all();
}

std::unique_ptr<nn::ParameterSource> StableDiffusionPipeline::other_weights(
    const std::filesystem::path& file) const {
  return std::make_unique<ComponentWeights>(file, "unet");
}

std::unique_ptr<families::Blocks> StableDiffusionPipeline::load_blocks(
    const families::ProgressCallback& progress) const {
  auto session = parts_->backend.start();
  const ModelFolder& folder = parts_->model.folder;
  return families::load_blocks(
      "load UNet", progress,
      [&](io::TakenCallback on_taken) {
        return std::make_unique<ComponentWeights>(folder.component("unet"), "unet", std::move(on_taken));
      },
      [&](std::unique_ptr<nn::ParameterSource> source) {
        return std::make_unique<UNetBlocks>(folder.unet, models_of(parts_->backend, parts_->choices.denoiser),
                                            std::move(session), std::move(source));
      });
}

}  // namespace precast::stable_diffusion
