// FluxPipeline: makes pictures from prompts, each component under a precision policy of its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <families/backend.hpp>
#include <families/choices.hpp>
#include <families/model_files.hpp>
#include <families/pipeline.hpp>

namespace precast::flux {

using families::choices_of;
using families::ComponentChoices;
using families::ComponentMemory;
using families::MemoryEstimate;
using families::Progress;
using families::ProgressCallback;
using families::Request;
using families::Result;

/// A Flux model in a diffusers folder, or in files. Opening reads configs and tokenizers, no weights. Every
/// member throws InputError (what, which file, what to do), ShapeError, PathNotCompiled or OutOfMemory.
class FluxPipeline final : public families::Pipeline {
 public:
  /// Components run on the CPU, or on `backend`, which must outlive the pipeline.
  FluxPipeline(const families::ModelFiles& files, const ComponentChoices& choices);
  FluxPipeline(const families::ModelFiles& files, const ComponentChoices& choices,
               const families::Backend& backend);
  FluxPipeline(FluxPipeline&&) noexcept;
  FluxPipeline& operator=(FluxPipeline&&) noexcept;
  ~FluxPipeline() override;

  Result generate(const Request& request, const ProgressCallback& progress = {},
                  const families::PictureCallback& on_picture = {}) const override;
  MemoryEstimate check(const Request& request) const override;
  MemoryEstimate estimate(const Request& request) const override;
  families::ResolvedRequest with_defaults(const Request& request) const override;
  std::vector<families::NamedTokens> tokens(const std::string& text) const override;
  std::vector<families::CutPrompt> cut_prompts(const Request& request) const override;
  std::vector<std::string> notes() const override;
  bool has_blocks() const override { return true; }
  void record(const Request& request, const families::Recording& recording,
              const ProgressCallback& progress = {}) const override;
  std::unique_ptr<families::Blocks> load_blocks(const ProgressCallback& progress = {}) const override;
  std::unique_ptr<nn::ParameterSource> other_weights(const std::filesystem::path& file) const override;
  const ComponentChoices& choices() const override;
  const families::Family& family() const override;

  /// Token ids of a text, with special tokens, without padding, truncated at the encoder's length.
  std::vector<std::int32_t> clip_tokens(const std::string& text) const;
  std::vector<std::int32_t> t5_tokens(const std::string& text) const;

 private:
  struct Parts;
  class Run;
  std::unique_ptr<Parts> parts_;
};

}  // namespace precast::flux
