// FluxPipeline: from prompts to pictures, each component under a precision policy of its own.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <image/image.hpp>

#include <precast/policy/choice.hpp>
#include <precast/policy/presets.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::flux {

/// The policy of each component.
struct ComponentChoices {
  PolicyChoice transformer;
  PolicyChoice text_encoder;
  PolicyChoice vae;

  static constexpr ComponentChoices all(const PolicyChoice& choice) { return {choice, choice, choice}; }
  friend constexpr bool operator==(const ComponentChoices&, const ComponentChoices&) = default;
};

/// What to make. Unset values come from the model (its precast.json, else its scheduler's usual ones).
struct Request {
  std::vector<std::string> prompts;        ///< at least one; "" is a prompt
  std::uint64_t seed = 0;                  ///< as torch.Generator("cpu").manual_seed(seed)
  std::optional<int> steps;                ///< model default, else 28 with guidance embedding, 4 without
  std::optional<double> guidance;          ///< model default, else 3.5
  std::optional<int> max_sequence_length;  ///< of T5; default min(512, its tokenizer's model_max_length)
  std::optional<int> width, height;        ///< pixels; model default, else 1024
  int batch = 1;                           ///< pictures per prompt
  std::optional<image::Image> image;       ///< img2img: the picture to start from
  double strength = 0.6;                   ///< img2img: 0 keeps the picture, 1 ignores it
  std::optional<Tensor<f32>>
      latents;  ///< packed [pictures, tokens, channels]: used instead of the seed's noise
};

/// How far a run is: `done` of `total` units of a stage ("load transformer", "denoise", "decode").
struct Progress {
  std::string_view stage;
  std::int64_t done = 0;
  std::int64_t total = 0;
};
/// Is called from the thread that generates. May throw to cancel: nothing is left behind.
using ProgressCallback = std::function<void(const Progress&)>;

/// Bytes that a component needs at its peak: weights, and the results of ops while it runs.
struct ComponentMemory {
  std::string component;  ///< "text_encoder", "text_encoder_2", "transformer", "vae"
  std::int64_t weights = 0;
  std::int64_t activations = 0;
};
/// Components load, run and free one after another: the peak is the largest of them.
struct MemoryEstimate {
  std::vector<ComponentMemory> components;
  std::int64_t peak() const;
};

/// What came out.
struct Result {
  std::vector<image::Image> images;  ///< prompts x batch, prompt by prompt
  Tensor<f32> latents;               ///< the final packed latents [pictures, tokens, channels]
  std::vector<std::string> prompts;  ///< for each picture, its prompt
  double load_seconds = 0, text_seconds = 0, denoise_seconds = 0, decode_seconds = 0;
  std::int64_t peak_bytes = 0;  ///< of tensor memory
  std::int64_t nan_values = 0;  ///< values of pixels that were NaN, and are black
  Request used;                 ///< the request with every default filled in (without image and latents)
};

class Components;

/// A Flux model in a diffusers folder. Opening reads configs and tokenizers, no weights.
/// Every member throws InputError (what, which file, what to do), ShapeError, PathNotCompiled or OutOfMemory.
class FluxPipeline {
 public:
  /// Components run on the CPU, or where `backend` (components.hpp) runs them, which must outlive the
  /// pipeline.
  FluxPipeline(const std::filesystem::path& folder, const ComponentChoices& choices);
  FluxPipeline(const std::filesystem::path& folder, const ComponentChoices& choices,
               const Components& backend);
  FluxPipeline(FluxPipeline&&) noexcept;
  FluxPipeline& operator=(FluxPipeline&&) noexcept;
  ~FluxPipeline();

  /// Makes the pictures: checks the request, then loads, runs and frees one component after another.
  Result generate(const Request& request, const ProgressCallback& progress = {}) const;

  /// What `generate` refuses before it loads anything, which can take minutes: settings out of range, latents
  /// of another size, tokens that an encoder does not have, a component whose files are missing or are not
  /// what they claim to be (their headers are read), and an estimate beyond the memory that is free.
  void check(const Request& request) const;
  /// What `generate` would need.
  MemoryEstimate estimate(const Request& request) const;
  /// The request with every default filled in. Throws InputError for sizes, steps or strengths out of range.
  Request with_defaults(const Request& request) const;

  /// Token ids of a text, special tokens in, padding out, cut at the encoder's length.
  std::vector<std::int32_t> clip_tokens(const std::string& text) const;
  std::vector<std::int32_t> t5_tokens(const std::string& text) const;

  const ComponentChoices& choices() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The policy of each component from a compile-time Mixed<...>, whose policies must be among the compiled
/// paths.
template <class MixedPolicy>
constexpr ComponentChoices choices_of() {
  return {choice_of<typename MixedPolicy::transformer>(), choice_of<typename MixedPolicy::text_encoder>(),
          choice_of<typename MixedPolicy::vae>()};
}

}  // namespace precast::flux
