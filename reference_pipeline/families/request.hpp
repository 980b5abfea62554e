// A pipeline's requests and results, the same for every family.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <families/changed_weights.hpp>
#include <families/preview.hpp>
#include <image/fit.hpp>
#include <image/image.hpp>
#include <image/picture_file.hpp>

#include <precast/tensor/tensor.hpp>

namespace precast::families {

/// Settings of a request that are numbers and names. Unset values come from the model (its precast.json,
/// else its usual values).
struct Settings {
  std::uint64_t seed = 0;                  ///< as torch.Generator("cpu").manual_seed(seed)
  std::optional<int> steps;                ///< of denoising
  std::optional<double> guidance;          ///< how closely to follow the prompt
  std::optional<int> max_sequence_length;  ///< most tokens of the longest text encoder
  std::optional<int> padding;              ///< tokens that its shorter prompts are filled up to, and longer
                                           ///< ones are not; unset: max_sequence_length
  std::optional<int> width, height;        ///< pixels
  bool vae_tiling = false;                 ///< the autoencoder works in bands of rows: less memory, more time

  // For families with samplers and two predictions a step; `with_defaults` of others drops them.
  std::optional<std::string> sampler;      ///< "ddim", "euler_a" …; unset: the model's own
  std::optional<double> eta;               ///< of ddim: how much noise its steps draw, 0 to 1
  std::optional<double> guidance_rescale;  ///< 0 to 1: how far a guided prediction takes the deviation of
                                           ///< the one for the prompt
  std::optional<int> clip_skip;  ///< which layer of CLIP prompts are read from, counted from its last, 1;
                                 ///< unset: 1, of XL 2
  std::optional<double> aesthetic_score;           ///< a refiner's condition for the prompt; unset: 6
  std::optional<double> negative_aesthetic_score;  ///< and for the negative prompt; unset: 2.5
};

/// What to make.
struct Request : Settings {
  std::vector<std::string> prompts;        ///< at least one; "" is a prompt
  std::optional<std::uint64_t> seed_step;  ///< picture k has a generator of its own, of seed + k seed_step;
                                           ///< unset: one generator draws for all, picture after picture
  std::optional<std::string> negative;     ///< the negative prompt; unset: the family's default
  double cfg_scale = 1;                    ///< of classifier-free guidance; 1: none
  int batch = 1;                           ///< pictures per prompt
  std::optional<image::Image> image;       ///< img2img: the picture to start from
  image::Fit fit = image::Fit::stretch;    ///< img2img: how that picture takes the size of the new one
  double strength = 0.6;  ///< img2img: 0 keeps the picture, as the model's autoencoder has it; 1 ignores it
  std::optional<image::Encoding> written_as;  ///< encoding of each picture, for the memory estimate alone
  std::optional<PreviewRequest> preview;      ///< previews of the pictures as they form
  std::optional<Tensor<f32>> latents;         ///< as the family packs them: used instead of the seed's noise

  // For families with samplers, as above.
  std::optional<image::Image> mask;              ///< inpainting: where it is white, `image` is painted anew
  std::optional<std::filesystem::path> refiner;  ///< a second model, which takes the last steps
  std::optional<double> refiner_start;           ///< from which fraction of the noise levels, 0 to 1

  // For families whose blocks run one by one.
  WeightsChange change_weights;  ///< of the model's denoiser, as it is loaded; a refiner's stay as stored
};

/// A request as a pipeline runs it, made by `with_defaults`: every default is filled in, and settings that
/// the model does not use are unset. Image, mask and latents stay in the Request.
struct ResolvedRequest {
  /// A model's values for what a request leaves unset.
  struct Defaults {
    int steps, width, height;
  };
  /// Copies the settings that every family uses; the rest stays unset.
  ResolvedRequest(const Request& given, const Defaults& defaults)
      : prompts(given.prompts),
        seed(given.seed),
        seed_step(given.seed_step),
        batch(given.batch),
        strength(given.strength),
        fit(given.fit),
        written_as(given.written_as),
        vae_tiling(given.vae_tiling),
        steps(given.steps.value_or(defaults.steps)),
        width(given.width.value_or(defaults.width)),
        height(given.height.value_or(defaults.height)) {}

  std::vector<std::string> prompts;
  std::uint64_t seed;
  std::optional<std::uint64_t> seed_step;
  int batch;
  double strength;
  image::Fit fit;
  std::optional<image::Encoding> written_as;
  bool vae_tiling;
  int steps, width, height;

  std::optional<std::string> negative;
  double cfg_scale = 1;
  std::optional<double> guidance;
  std::optional<int> max_sequence_length, padding;
  std::optional<std::string> sampler;
  std::optional<double> eta, guidance_rescale;
  std::optional<int> clip_skip;
  std::optional<double> aesthetic_score, negative_aesthetic_score;
  std::optional<std::filesystem::path> refiner;
  std::optional<double> refiner_start;
};

/// The seed of picture `picture` alone if the request has a seed step, else the seed of all pictures.
inline std::uint64_t picture_seed(const ResolvedRequest& request, std::int64_t picture) {
  return request.seed + request.seed_step.value_or(0) * static_cast<std::uint64_t>(picture);
}

/// A prompt that is longer than an encoder reads.
struct CutPrompt {
  std::size_t prompt = 0;         ///< its number among the request's prompts, where it is one of them
  std::string_view encoder = {};  ///< "CLIP"
  int tokens = 0;                 ///< how many the encoder reads, special ones included
  std::string lost = {};          ///< the words that it does not read
  bool negative = false;          ///< it is the negative prompt
};

/// A run's progress: `done` of `total` units of a stage ("load transformer", "denoise", "decode"). Where
/// pictures are made one by one, their stages alternate, and each continues its count.
struct Progress {
  std::string_view stage;
  std::int64_t done = 0;
  std::int64_t total = 0;
};
/// Called from the thread that generates. May throw to cancel, which leaves nothing behind.
using ProgressCallback = std::function<void(const Progress&)>;

/// Bytes that a component needs at its peak: weights, and the results of ops while it runs.
struct ComponentMemory {
  std::string component;  ///< "text_encoder", "transformer", "vae"
  std::int64_t weights = 0;
  std::int64_t activations = 0;
};
/// The memory of a run, from a dry run of it. Components are loaded, run and freed one after another, so
/// the largest determines the need.
struct MemoryEstimate {
  std::vector<ComponentMemory> components;
  std::int64_t held = 0;            ///< bytes that the process holds already: code, and what it has read
  std::int64_t largest_so_far = 0;  ///< the process's largest size until now: reading a picture took more
  std::int64_t code = 0;            ///< added by running, beside tensors: loaded and generated code, stacks

  /// Bytes that must be free, beyond those held now.
  std::int64_t needed() const;
  /// The largest size of the process.
  std::int64_t peak() const { return std::max(held + needed(), largest_so_far); }
};

/// The result of a run.
struct Result {
  explicit Result(ResolvedRequest request) : used(std::move(request)) {}

  ResolvedRequest used;              ///< the request that was run
  std::vector<image::Image> images;  ///< prompts x batch, prompt by prompt
  Tensor<f32> latents;               ///< the final latents, as the family packs them
  std::vector<std::string> prompts;  ///< for each picture, its prompt
  std::string sampler;               ///< as other programs name it in pictures: "Euler"
  double load_seconds = 0, text_seconds = 0;
  double denoise_seconds = 0;  ///< without previews
  double decode_seconds = 0;
  std::int64_t steps = 0;       ///< of denoising, those of all pictures together
  std::int64_t peak_bytes = 0;  ///< of tensor memory
  MemoryEstimate estimate;      ///< the estimate before the run began
  std::int64_t nan_values = 0;  ///< pixel values that were NaN, written as black
};

/// Called after each picture, from the thread that generates: the last of `images` is new, and `prompts`,
/// `used` and `sampler` are final. May throw to cancel.
using PictureCallback = std::function<void(const Result& so_far)>;

}  // namespace precast::families
