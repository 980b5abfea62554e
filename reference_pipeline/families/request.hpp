// What a pipeline is asked for, and what comes out, whatever the family of its model.
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

/// How to make pictures, as far as numbers and names say it. Unset values come from the model (its
/// precast.json, else what is usual for it).
struct Settings {
  std::uint64_t seed = 0;                  ///< as torch.Generator("cpu").manual_seed(seed)
  std::optional<int> steps;                ///< of denoising
  std::optional<double> guidance;          ///< how closely to follow the prompt
  std::optional<int> max_sequence_length;  ///< most tokens of the longest text encoder
  std::optional<int> padding;              ///< tokens that its shorter prompts are filled up to, and longer
                                           ///< ones are not; unset: max_sequence_length
  std::optional<int> width, height;        ///< pixels
  bool vae_tiling = false;                 ///< the autoencoder works in bands of rows: less memory, more time

  // What families with samplers and two predictions a step have; `with_defaults` of others leaves it out.
  std::optional<std::string> sampler;      ///< "ddim", "euler_a" …; unset: the model's own
  std::optional<double> eta;               ///< of ddim: how much noise its steps draw, 0 to 1
  std::optional<double> guidance_rescale;  ///< 0 to 1: how far a guided prediction takes the deviation of
                                           ///< the one for the prompt
  std::optional<int> clip_skip;  ///< which layer of CLIP prompts are read from, counted from its last, 1;
                                 ///< unset: 1, of XL 2
  std::optional<double> aesthetic_score;           ///< that refiners are told of the picture, 6 where unset
  std::optional<double> negative_aesthetic_score;  ///< and of what to keep away from, 2.5 where unset
};

/// What to make.
struct Request : Settings {
  std::vector<std::string> prompts;        ///< at least one; "" is a prompt
  std::optional<std::uint64_t> seed_step;  ///< picture k has a generator of its own, of seed + k seed_step;
                                           ///< unset: one generator draws for all, picture after picture
  std::optional<std::string> negative;     ///< what to keep away from; unset: as the family does
  double cfg_scale = 1;                    ///< of classifier-free guidance; 1 is without
  int batch = 1;                           ///< pictures per prompt
  std::optional<image::Image> image;       ///< img2img: the picture to start from
  image::Fit fit = image::Fit::stretch;    ///< img2img: how that picture takes the size of the new one
  double strength = 0.6;  ///< img2img: 0 keeps the picture, as the model's autoencoder has it; 1 ignores it
  std::optional<image::Encoding> written_as;  ///< what becomes of each picture: for memory's estimate alone
  std::optional<PreviewWish> preview;         ///< who is shown the pictures as they form
  std::optional<Tensor<f32>> latents;         ///< as the family packs them: used instead of the seed's noise

  // Of families with samplers, as above.
  std::optional<image::Image> mask;              ///< inpainting: where it is white, `image` is painted anew
  std::optional<std::filesystem::path> refiner;  ///< a second model, which takes the last steps
  std::optional<double> refiner_start;           ///< from which part of the noise levels, 0 to 1

  // Of families whose blocks run one by one.
  WeightsChange change_weights;  ///< of the model's denoiser, as it is loaded; a refiner's stay as stored
};

/// A request as a pipeline runs it, which its `with_defaults` makes: every default is filled in, and what is
/// unset, the model has no use for. Its image, mask and latents stay where they were given.
struct ResolvedRequest {
  /// What a model takes where a request leaves it open.
  struct Defaults {
    int steps, width, height;
  };
  /// What every family takes, as it is given; the rest is unset.
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

/// The seed that makes picture `picture` alone, where the request has a step; else that of all pictures.
inline std::uint64_t picture_seed(const ResolvedRequest& request, std::int64_t picture) {
  return request.seed + request.seed_step.value_or(0) * static_cast<std::uint64_t>(picture);
}

/// A prompt that is longer than an encoder reads.
struct CutPrompt {
  std::size_t prompt = 0;         ///< its number among the request's prompts, where it is one of them
  std::string_view encoder = {};  ///< "CLIP"
  int tokens = 0;                 ///< how many it reads, with its special ones
  std::string lost = {};          ///< the words that it does not
  bool negative = false;          ///< it is the negative prompt
};

/// How far a run is: `done` of `total` units of a stage ("load transformer", "denoise", "decode"). Where
/// pictures are made one by one, their stages take turns, and each goes on where it was.
struct Progress {
  std::string_view stage;
  std::int64_t done = 0;
  std::int64_t total = 0;
};
/// Is called from the thread that generates. May throw to cancel: nothing is left behind.
using ProgressCallback = std::function<void(const Progress&)>;

/// Bytes that a component needs at its peak: weights, and the results of ops while it runs.
struct ComponentMemory {
  std::string component;  ///< "text_encoder", "transformer", "vae"
  std::int64_t weights = 0;
  std::int64_t activations = 0;
};
/// What a run takes, by a dry run of it. Components load, run and free one after another: the largest of them
/// is what is needed.
struct MemoryEstimate {
  std::vector<ComponentMemory> components;
  std::int64_t held = 0;            ///< what the process holds already: its code, what it has read
  std::int64_t largest_so_far = 0;  ///< the process's largest size until now: reading a picture took more
  std::int64_t code = 0;  ///< what running adds to that beside tensors: code that is read and made, stacks

  /// Beyond what is held now: what has to be free.
  std::int64_t needed() const;
  /// The largest size of the process.
  std::int64_t peak() const { return std::max(held + needed(), largest_so_far); }
};

/// What came out.
struct Result {
  explicit Result(ResolvedRequest request) : used(std::move(request)) {}

  ResolvedRequest used;              ///< what was run
  std::vector<image::Image> images;  ///< prompts x batch, prompt by prompt
  Tensor<f32> latents;               ///< the final latents, as the family packs them
  std::vector<std::string> prompts;  ///< for each picture, its prompt
  std::string sampler;               ///< how pictures' programs call it: "Euler"
  double load_seconds = 0, text_seconds = 0;
  double denoise_seconds = 0;  ///< without those of previews
  double decode_seconds = 0;
  std::int64_t steps = 0;       ///< of denoising, those of all pictures together
  std::int64_t peak_bytes = 0;  ///< of tensor memory
  MemoryEstimate estimate;      ///< what the run was said to take before it began
  std::int64_t nan_values = 0;  ///< values of pixels that were NaN, and are black
};

/// Is called after each picture, from the thread that generates: the last of `images` is new, and `prompts`,
/// `used` and `sampler` are as they will be. May throw to cancel.
using PictureCallback = std::function<void(const Result& so_far)>;

}  // namespace precast::families
