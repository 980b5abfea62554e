// Pipeline: the interface of an open model, which each family implements.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <families/blocks.hpp>
#include <families/choices.hpp>
#include <families/request.hpp>
#include <families/request_error.hpp>

namespace precast::families {

class Family;

/// A text's token ids under one of a model's tokenizers.
struct NamedTokens {
  std::string_view tokenizer;  ///< "clip"
  std::vector<std::int32_t> ids;
};

/// A model whose configs and tokenizers were read. Every member throws InputError (what, which file, what
/// to do; a RequestError where a setting is at fault), ShapeError, PathNotCompiled or OutOfMemory.
class Pipeline {
 public:
  virtual ~Pipeline() = default;

  /// Makes the pictures: checks the request, then loads, runs and frees one component after another. Where
  /// memory allows it, each of several pictures is finished before the next is begun.
  virtual Result generate(const Request& request, const ProgressCallback& progress = {},
                          const PictureCallback& on_picture = {}) const = 0;
  /// Makes the checks of `generate` before it loads anything, which can take minutes: throws for settings
  /// out of range, latents of another size, tokens that an encoder does not have, a component whose files
  /// are missing or not what they claim to be (their headers are read), and an estimate above the free
  /// memory. Returns that estimate.
  virtual MemoryEstimate check(const Request& request) const = 0;
  /// The memory that `generate` would need, whether it is free or not.
  virtual MemoryEstimate estimate(const Request& request) const = 0;
  /// The request with every default filled in, and without settings that the model does not use, such as
  /// guidance where it has none. Throws InputError for sizes, steps or strengths out of range.
  virtual ResolvedRequest with_defaults(const Request& request) const = 0;
  /// Token ids of a text, with special tokens, without padding, truncated at the encoder's length.
  virtual std::vector<NamedTokens> tokens(const std::string& text) const = 0;

  /// Prompts that are longer than an encoder reads.
  virtual std::vector<CutPrompt> cut_prompts(const Request&) const { return {}; }

  /// Unused contents of its files and other facts worth knowing, a line each.
  virtual std::vector<std::string> notes() const { return {}; }
  /// Warnings about defaults of a request that do not suit the model, a line each.
  virtual std::vector<std::string> doubtful_defaults(const Request&) const { return {}; }
  /// Makes the pictures as far as their final latents, and records the states that the denoiser's blocks
  /// start from. Throws RequestError where a family has no such blocks.
  virtual void record(const Request&, const Recording&, const ProgressCallback& = {}) const {
    throw without_blocks();
  }
  /// Loads the denoiser, whose blocks can then be run and changed one by one; it must not outlive the
  /// pipeline. Throws RequestError where a family has no such blocks.
  virtual std::unique_ptr<Blocks> load_blocks(const ProgressCallback& = {}) const { throw without_blocks(); }

  /// Weights of such a denoiser in another file, under the names that its blocks have; none is loaded.
  /// Throws InputError where the file holds something else, RequestError where a family has no such blocks.
  virtual std::unique_ptr<nn::ParameterSource> other_weights(const std::filesystem::path&) const {
    throw without_blocks();
  }

  /// The policies that its components run under, which may differ from the requested ones.
  virtual const ComponentChoices& choices() const = 0;
  virtual const Family& family() const = 0;
  /// Whether `record`, `load_blocks` and `other_weights` work: the denoiser's blocks run one by one.
  virtual bool has_blocks() const { return false; }

 protected:
  Pipeline() = default;
  Pipeline(const Pipeline&) = default;
  Pipeline& operator=(const Pipeline&) = default;

 private:
  static RequestError without_blocks() {
    return RequestError(
        "the blocks of models of this family cannot be run one by one: give a Flux or Stable Diffusion "
        "model");
  }
};

}  // namespace precast::families
