// StableDiffusionPipeline: prompts to pictures with SD 1.x, 2.x, XL, its refiner and LCM, with a precision
// policy for each component.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <families/backend.hpp>
#include <families/choices.hpp>
#include <families/model_files.hpp>
#include <families/pipeline.hpp>

namespace precast::stable_diffusion {

/// A Stable Diffusion model in a diffusers folder, or in files. Opening reads configs and tokenizers, no
/// weights. Latents are [pictures, channels, h, w], as in diffusers; given latents are noise of variance 1.
/// Every member throws InputError (what, which file, what to do), ShapeError, PathNotCompiled or
/// OutOfMemory.
class StableDiffusionPipeline final : public families::Pipeline {
 public:
  /// Components run on `backend`, which must outlive the pipeline.
  StableDiffusionPipeline(const families::ModelFiles& model, const families::ComponentChoices& choices,
                          const families::Backend& backend = families::cpu_backend());
  ~StableDiffusionPipeline() override;

  families::Result generate(const families::Request& request, const families::ProgressCallback& progress = {},
                            const families::PictureCallback& on_picture = {}) const override;
  families::MemoryEstimate check(const families::Request& request) const override;
  families::MemoryEstimate estimate(const families::Request& request) const override;
  families::ResolvedRequest with_defaults(const families::Request& request) const override;
  std::vector<families::NamedTokens> tokens(const std::string& text) const override;
  std::vector<families::CutPrompt> cut_prompts(const families::Request& request) const override;
  std::vector<std::string> notes() const override;
  std::vector<std::string> doubtful_defaults(const families::Request& request) const override;
  bool has_blocks() const override { return true; }
  void record(const families::Request& request, const families::Recording& recording,
              const families::ProgressCallback& progress = {}) const override;
  std::unique_ptr<families::Blocks> load_blocks(
      const families::ProgressCallback& progress = {}) const override;
  std::unique_ptr<nn::ParameterSource> other_weights(const std::filesystem::path& file) const override;
  const families::ComponentChoices& choices() const override;
  const families::Family& family() const override;

 private:
  struct Parts;
  class Run;
  std::unique_ptr<Parts> parts_;
};

}  // namespace precast::stable_diffusion
