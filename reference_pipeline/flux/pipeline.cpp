// Runs the stages of a Flux pipeline: text, noise, denoising, decoding; one component in memory at a time.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <families/backend.hpp>
#include <families/free_memory.hpp>
#include <families/memory_estimate.hpp>
#include <flux/family.hpp>
#include <flux/latents.hpp>
#include <flux/model_folder.hpp>
#include <flux/models.hpp>
#include <flux/pipeline.hpp>
#include <image/fit.hpp>
#include <image/resize.hpp>
#include <image/tensor_image.hpp>
#include <sampling/flow_match_euler.hpp>
#include <sampling/torch_random.hpp>
#include <text/clip_tokenizer.hpp>
#include <text/t5_tokenizer.hpp>

#include <precast/io/component_source.hpp>
#include <precast/policy/paths.hpp>

namespace precast::flux {

namespace {

constexpr int longest_clip = 77;
constexpr int longest_t5 = 512;
constexpr int largest_side = 16384;
constexpr int most_steps = 10000;
constexpr int most_pictures = 1024;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

InputError out_of_range(std::string_view what, const std::string& value, const std::string& range) {
  return InputError(std::string(what) + " is " + value + ": it must be " + range);
}

/// Throws InputError where the encoder's embedding has no row for one of the ids.
void check_vocabulary(const std::filesystem::path& encoder, std::span<const std::int32_t> ids,
                      std::int64_t vocab_size) {
  const std::int32_t largest = *std::max_element(ids.begin(), ids.end());
  if (largest >= vocab_size)
    throw io::file_error(encoder / "config.json",
                         "key 'vocab_size': is " + std::to_string(vocab_size) +
                             ", and the tokenizer gives id " + std::to_string(largest) +
                             " for this prompt: the tokenizer is not this encoder's");
}

/// Ids of one length, filled up with the padding id.
std::vector<std::int32_t> padded(std::vector<std::int32_t> ids, std::int64_t length, std::int32_t padding) {
  ids.resize(static_cast<std::size_t>(length), padding);
  return ids;
}

/// A prompt's ids as its encoders take them.
struct Tokens {
  std::vector<std::int32_t> clip, t5;
};

/// Who is told how far a run is; or, where it is a dry run, what divides that.
struct Reporter {
  const ProgressCallback& callback;
  families::ComponentMeter* meter = nullptr;

  explicit operator bool() const { return static_cast<bool>(callback); }
  void operator()(const Progress& at) const { callback(at); }
};

/// What the text encoders made of a prompt.
struct Prompt {
  Tensor<f32> pooled;      ///< [1, pooled dim]
  Tensor<f32> embeddings;  ///< [tokens, joint dim]
};

}  // namespace

namespace {

/// What estimates call the part of a component that a stage loads.
std::string_view component_of(std::string_view stage, std::string_view component) {
  if (stage == "load VAE encoder") return "vae encoder";
  return stage == "load VAE for previews" ? "vae for previews" : component;
}

}  // namespace

struct FluxPipeline::Parts {
  ModelFolder model;
  ComponentChoices choices;
  const families::Backend& backend;
  text::ClipTokenizer clip_tokenizer;
  text::T5Tokenizer t5_tokenizer;

  int clip_length() const {
    const std::int64_t limit = clip_tokenizer.model_max_length().value_or(longest_clip);
    return static_cast<int>(std::min(limit, model.clip.max_position_embeddings));
  }
  int default_t5_length() const {
    const std::int64_t limit = t5_tokenizer.model_max_length().value_or(longest_t5);
    return static_cast<int>(std::min<std::int64_t>(limit, longest_t5));
  }

  PackedLayout layout(const Request& request) const {
    const std::int64_t factor = model.vae.factor();
    return {model.vae.latent_channels, *request.height / factor, *request.width / factor};
  }
  /// Throws ShapeError where latents that are given are not those of the request.
  void check_latents(const Request& request, const std::optional<Tensor<f32>>& latents) const {
    const PackedLayout packed = layout(request);
    const Shape wanted{pictures(request), packed.tokens(), packed.token_channels()};
    if (latents && !(latents->shape() == wanted))
      throw ShapeError("latents have shape " + to_string(latents->shape()) + ", and this request needs " +
                       to_string(wanted) +
                       ": give latents of its size, or change --width, --height or --batch");
  }
  static std::int64_t pictures(const Request& request) {
    return static_cast<std::int64_t>(request.prompts.size()) * request.batch;
  }
  /// Throws InputError where an encoder has no row for a token.
  Tokens tokenized(const std::string& prompt, int t5_length) const {
    Tokens tokens{
        padded(clip_tokenizer.encode(prompt, clip_length()), clip_length(), clip_tokenizer.pad_id()),
        padded(t5_tokenizer.encode(prompt, t5_length), t5_length, t5_tokenizer.pad_id())};
    check_vocabulary(model.component("text_encoder"), tokens.clip, model.clip.vocab_size);
    check_vocabulary(model.component("text_encoder_2"), tokens.t5, model.t5.vocab_size);
    return tokens;
  }

  /// Opens a component's weights, and reports each byte that is taken under the stage's name.
  template <class Use>
  auto with_weights(std::string_view component, std::string_view stage, const Reporter& progress,
                    Use&& use) const {
    if (progress.meter) progress.meter->begin(component_of(stage, component));
    if (DryRun::active() && !io::ComponentSource::find_weights(model.component(component))) {
      auto loaded = use(nn::AbsentParameters());  // what a model takes is told before there are weights
      if (progress.meter) progress.meter->loaded();
      return loaded;
    }
    std::int64_t taken = 0;
    std::int64_t total = 0;
    const io::ComponentSource source(model.component(component), [&](std::size_t bytes) {
      taken += static_cast<std::int64_t>(bytes);
      if (progress) progress({stage, std::min(taken, total), total});
    });
    total = static_cast<std::int64_t>(source.total_bytes());
    auto loaded = use(source);
    if (progress.meter) progress.meter->loaded();
    if (progress) progress({stage, total, total});
    return loaded;
  }

  /// The stages, with every default filled in; `given` has the image and the latents to start from. A dry run
  /// goes through them with one step of one picture.
  Result run(const Request& full, const Request& given, const Reporter& progress) const;
  std::vector<Prompt> encode_prompts(const Request& request, const Reporter& progress, Result& result) const;
  Tensor<f32> initial_latents(const Request& request, const Request& given, std::span<const f32> sigmas,
                              int first_step, const Reporter& progress, Result& result) const;
  void denoise(const Request& request, const Request& given, std::span<const Prompt> prompts,
               std::span<const f32> sigmas, int first_step, const Reporter& progress, Result& result) const;
  std::unique_ptr<vae::Decoder> preview_decoder(const Request& given, const Reporter& progress) const;
  void show_preview(const Request& request, const families::PreviewWish& wish, const vae::Decoder* decoder,
                    HostView<const f32> latents, families::Preview preview) const;
  void decode(const Request& request, const Reporter& progress, Result& result) const;
};

std::vector<Prompt> FluxPipeline::Parts::encode_prompts(const Request& request, const Reporter& progress,
                                                        Result& result) const {
  std::vector<Prompt> prompts(request.prompts.size());
  std::vector<Tokens> tokens;
  for (const std::string& prompt : request.prompts)
    tokens.push_back(tokenized(prompt, *request.max_sequence_length));
  const auto encode_all = [&](std::string_view component, std::string_view load, std::string_view encode,
                              auto&& make, auto&& use, auto&& copy) {
    const auto start = std::chrono::steady_clock::now();
    const auto encoder = with_weights(component, load, progress, make);
    result.load_seconds += seconds_since(start);
    const auto loaded = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      if (progress)
        progress({encode, static_cast<std::int64_t>(i), static_cast<std::int64_t>(prompts.size())});
      if (i > 0 && DryRun::active())
        copy(prompts[0], prompts[i]);
      else
        use(*encoder, tokens[i], prompts[i]);
    }
    if (progress)
      progress(
          {encode, static_cast<std::int64_t>(prompts.size()), static_cast<std::int64_t>(prompts.size())});
    result.text_seconds += seconds_since(loaded);
  };
  encode_all(
      "text_encoder", "load CLIP", "encode with CLIP",
      [&](const auto& source) { return models_of(backend, choices.text_encoder).clip(model.clip, source); },
      [&](const text::ClipTextModel& encoder, const Tokens& ids, Prompt& prompt) {
        prompt.pooled = encoder.encode(ids.clip).pooled;
      },
      [](const Prompt& from, Prompt& to) { to.pooled = from.pooled.clone(); });
  encode_all(
      "text_encoder_2", "load T5", "encode with T5",
      [&](const auto& source) { return models_of(backend, choices.text_encoder).t5(model.t5, source); },
      [&](const text::T5Encoder& encoder, const Tokens& ids, Prompt& prompt) {
        prompt.embeddings = encoder.encode(ids.t5);
      },
      [](const Prompt& from, Prompt& to) { to.embeddings = from.embeddings.clone(); });
  families::give_back_memory();
  return prompts;
}

Tensor<f32> FluxPipeline::Parts::initial_latents(const Request& request, const Request& given,
                                                 std::span<const f32> sigmas, int first_step,
                                                 const Reporter& progress, Result& result) const {
  const PackedLayout packed = layout(request);
  const std::int64_t count = pictures(request);
  if (given.latents) return given.latents->clone();
  sampling::TorchGenerator generator(request.seed);
  const Shape drawn{count, packed.channels, packed.height, packed.width};
  if (!given.image) return pack(generator.randn(drawn), count, packed);

  // Image to image: the autoencoder's own sample is drawn first, then the noise, from one stream.
  const auto start = std::chrono::steady_clock::now();
  const auto encoder = with_weights("vae", "load VAE encoder", progress, [&](const auto& source) {
    return models_of(backend, choices.vae).encoder(model.vae, source);
  });
  result.load_seconds += seconds_since(start);
  if (progress) progress({"encode image", 0, 1});
  const vae::Moments moments = [&] {
    if (DryRun::active()) {
      DryHold(image::fitting_memory(*given.image, *request.width, *request.height, request.fit));
      const DryHold resized(std::int64_t{3} * *request.width * *request.height);
      return encoder->encode(Tensor<f32>(Shape{1, *request.height, *request.width, 3}));
    }
    const image::Image resized = image::fitted(*given.image, *request.width, *request.height, request.fit);
    return encoder->encode(image::to_tensor(resized));
  }();
  const Tensor<f32> sample_noise = generator.randn(Shape{1, packed.channels, packed.height, packed.width});
  Tensor<f32> sample(sample_noise.shape());
  const auto scale = static_cast<f32>(model.vae.scaling_factor),
             shift = static_cast<f32>(model.vae.shift_factor);
  const std::int64_t pixels = packed.height * packed.width;
  for (std::int64_t channel = 0; channel < packed.channels && !DryRun::active(); ++channel)
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
      const std::int64_t from = pixel * packed.channels + channel, to = channel * pixels + pixel;
      const f32 log_variance = std::clamp(moments.log_variance.data()[from], -30.0f, 20.0f);
      const f32 value = moments.mean.data()[from] + std::exp(0.5f * log_variance) * sample_noise.data()[to];
      sample.data()[to] = (value - shift) * scale;
    }
  const Tensor<f32> noise = generator.randn(drawn);
  Tensor<f32> noised(drawn);
  const f32 sigma = sigmas[static_cast<std::size_t>(first_step)];
  const auto per_picture = static_cast<std::size_t>(sample.elements());
  for (std::int64_t picture = 0; picture < count; ++picture) {
    const HostView<const f32> own(noise.data() + picture * sample.elements(), sample.shape());
    const Tensor<f32> mixed = sampling::scale_noise(sample, own, sigma);
    if (DryRun::active()) continue;
    std::copy_n(mixed.data(), per_picture, noised.data() + picture * sample.elements());
  }
  if (progress) progress({"encode image", 1, 1});
  return pack(noised, count, packed);
}

/// The decoder that previews want, which stays beside the transformer; none where they do without.
std::unique_ptr<vae::Decoder> FluxPipeline::Parts::preview_decoder(const Request& given,
                                                                   const Reporter& progress) const {
  if (!given.preview || !given.preview->vae) return nullptr;
  return with_weights("vae", "load VAE for previews", progress, [&](const auto& source) {
    return models_of(backend, choices.vae).decoder(model.vae, source);
  });
}

void FluxPipeline::Parts::show_preview(const Request& request, const families::PreviewWish& wish,
                                       const vae::Decoder* decoder, HostView<const f32> latents,
                                       families::Preview preview) const {
  const PackedLayout packed = layout(request);
  if (decoder) {
    const HostTensor<f32> pixels =
        decoder->decode(unpack(latents, packed, static_cast<f32>(model.vae.scaling_factor),
                               static_cast<f32>(model.vae.shift_factor)));
    if (DryRun::active()) return;
    preview.picture = std::move(image::to_images(pixels).images.front());
  } else if (!DryRun::active()) {
    preview.picture =
        image::resize(model.preview_map()->picture(latents, packed), *request.width, *request.height);
  }
  if (!DryRun::active()) wish.show(preview);
}

void FluxPipeline::Parts::denoise(const Request& request, const Request& given,
                                  std::span<const Prompt> prompts, std::span<const f32> sigmas,
                                  int first_step, const Reporter& progress, Result& result) const {
  const auto start = std::chrono::steady_clock::now();
  const std::unique_ptr<vae::Decoder> decoder = preview_decoder(given, progress);
  const auto transformer = with_weights("transformer", "load transformer", progress, [&](const auto& source) {
    return models_of(backend, choices.transformer).transformer(model.transformer, source);
  });
  result.load_seconds += seconds_since(start);
  const auto loaded = std::chrono::steady_clock::now();
  const PackedLayout packed = layout(request);
  const Shape one{packed.tokens(), packed.token_channels()};
  const std::int64_t count = pictures(request);
  std::vector<DenoiseStep> steps;
  for (auto at = static_cast<std::size_t>(first_step); at + 1 < sigmas.size(); ++at)
    steps.push_back(
        {sampling::model_timestep<f32>(model.scheduler, sigmas[at]), sigmas[at + 1] - sigmas[at]});
  const auto steps_a_picture = static_cast<std::int64_t>(steps.size());
  if (DryRun::active()) steps.resize(1);
  TransformerInput input;
  input.guidance = static_cast<f32>(*request.guidance);
  input.rows = packed.height / 2;
  input.columns = packed.width / 2;
  for (std::int64_t picture = 0; picture < count; ++picture) {
    const Prompt& prompt = prompts[static_cast<std::size_t>(picture / request.batch)];
    input.prompt = prompt.embeddings;
    input.pooled = prompt.pooled;
    const HostView<f32> latents(result.latents.data() + picture * one.elements(), one);
    // A preview comes between two calls, each of which takes some of the steps: the same steps either way.
    const auto pace = static_cast<std::int64_t>(steps.size());
    const std::int64_t at_once = given.preview ? std::min<std::int64_t>(given.preview->every, pace) : pace;
    for (std::int64_t done = 0; done < pace; done += at_once) {
      const std::int64_t next = std::min(done + at_once, pace);
      std::optional<Tensor<f32>> before;
      if (given.preview) before.emplace(one, latents.values());
      transformer->denoise(
          latents, input,
          std::span(steps).subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(next - done)),
          [&](std::int64_t step) {
            if (progress)
              progress({"denoise", picture * steps_a_picture + done + step, count * steps_a_picture});
          });
      if (!given.preview) continue;
      const auto level = [&](std::int64_t step) {
        return sigmas[static_cast<std::size_t>(first_step + step)];
      };
      show_preview(request, *given.preview, decoder.get(),
                   without_noise(*before, level(done), latents, level(next)),
                   {{}, picture, next, steps_a_picture});
    }
    if (DryRun::active()) return;
  }
  if (progress) progress({"denoise", count * steps_a_picture, count * steps_a_picture});
  result.denoise_seconds = seconds_since(loaded);
}

void FluxPipeline::Parts::decode(const Request& request, const Reporter& progress, Result& result) const {
  const auto start = std::chrono::steady_clock::now();
  const auto decoder = with_weights("vae", "load VAE decoder", progress, [&](const auto& source) {
    return models_of(backend, choices.vae).decoder(model.vae, source);
  });
  result.load_seconds += seconds_since(start);
  const auto loaded = std::chrono::steady_clock::now();
  const PackedLayout packed = layout(request);
  const std::int64_t count = pictures(request);
  for (std::int64_t picture = 0; picture < count; ++picture) {
    if (progress) progress({"decode", picture, count});
    const HostView<const f32> own(result.latents.data() + picture * packed.tokens() * packed.token_channels(),
                                  Shape{packed.tokens(), packed.token_channels()});
    const Tensor<f32> latents = unpack(own, packed, static_cast<f32>(model.vae.scaling_factor),
                                       static_cast<f32>(model.vae.shift_factor));
    if (DryRun::active()) {
      // When the last picture is decoded, the others are there; then it is made of what was decoded.
      const std::int64_t bytes = std::int64_t{3} * *request.width * *request.height;
      const DryHold others((count - 1) * bytes);
      const HostTensor<f32> pixels = decoder->decode(latents);
      const DryHold last(bytes);
      return;
    }
    image::Pictures decoded = image::to_images(decoder->decode(latents));
    result.images.push_back(std::move(decoded.images.front()));
    result.nan_values += decoded.nan;
    result.prompts.push_back(request.prompts[static_cast<std::size_t>(picture / request.batch)]);
  }
  if (progress) progress({"decode", count, count});
  result.decode_seconds = seconds_since(loaded);
}

FluxPipeline::FluxPipeline(const std::filesystem::path& folder, const ComponentChoices& choices)
    : FluxPipeline(folder, choices, families::cpu_backend()) {}

FluxPipeline::FluxPipeline(const std::filesystem::path& folder, const ComponentChoices& choices,
                           const families::Backend& backend) {
  require_path(choices.transformer);
  require_path(choices.text_encoder);
  require_path(choices.vae);
  ModelFolder model = ModelFolder::open(folder);
  auto clip = text::ClipTokenizer::load(model.component("tokenizer"));
  auto t5 = text::T5Tokenizer::load(model.component("tokenizer_2"));
  parts_ = std::make_unique<Parts>(Parts{std::move(model), choices, backend, std::move(clip), std::move(t5)});
}
FluxPipeline::FluxPipeline(FluxPipeline&&) noexcept = default;
FluxPipeline& FluxPipeline::operator=(FluxPipeline&&) noexcept = default;
FluxPipeline::~FluxPipeline() = default;

const ComponentChoices& FluxPipeline::choices() const { return parts_->choices; }
const families::Family& FluxPipeline::family() const { return flux::family(); }

std::vector<families::NamedTokens> FluxPipeline::tokens(const std::string& text) const {
  return {{"clip", clip_tokens(text)}, {"t5", t5_tokens(text)}};
}

std::vector<std::int32_t> FluxPipeline::clip_tokens(const std::string& text) const {
  return parts_->clip_tokenizer.encode(text, parts_->clip_length());
}
std::vector<std::int32_t> FluxPipeline::t5_tokens(const std::string& text) const {
  return parts_->t5_tokenizer.encode(text, parts_->default_t5_length());
}

Request FluxPipeline::with_defaults(const Request& request) const {
  const ModelFolder& model = parts_->model;
  const int factor = static_cast<int>(model.vae.factor());
  const bool guided = model.transformer.guidance_embeds;
  const int usual_side = 128 * factor;
  Request full;
  full.prompts = request.prompts;
  full.seed = request.seed;
  full.batch = request.batch;
  full.strength = request.strength;
  full.fit = request.fit;
  full.steps = request.steps ? request.steps : model.defaults.steps.value_or(guided ? 28 : 4);
  full.guidance = request.guidance ? request.guidance : model.defaults.guidance.value_or(3.5);
  full.max_sequence_length = request.max_sequence_length.value_or(parts_->default_t5_length());
  full.width = request.width ? request.width : model.defaults.width.value_or(usual_side);
  full.height = request.height ? request.height : model.defaults.height.value_or(usual_side);

  if (full.prompts.empty()) throw InputError("there is no prompt: give at least one");
  if (*full.steps < 1 || *full.steps > most_steps)
    throw out_of_range("steps", std::to_string(*full.steps), "from 1 to " + std::to_string(most_steps));
  if (!(*full.guidance >= 0 && *full.guidance <= 1000))
    throw out_of_range("guidance", std::to_string(*full.guidance), "from 0 to 1000");
  if (*full.max_sequence_length < 1 || *full.max_sequence_length > longest_t5)
    throw out_of_range("max sequence length", std::to_string(*full.max_sequence_length),
                       "from 1 to " + std::to_string(longest_t5));
  if (full.batch < 1 || Parts::pictures(full) > most_pictures)
    throw out_of_range("batch", std::to_string(full.batch),
                       "at least 1, for at most " + std::to_string(most_pictures) + " pictures in all");
  for (const auto& [what, side] : {std::pair("width", *full.width), std::pair("height", *full.height)})
    if (side < 1 || side > largest_side || side % (2 * factor) != 0)
      throw out_of_range(what, std::to_string(side),
                         "a multiple of " + std::to_string(2 * factor) + " (two latents of " +
                             std::to_string(factor) + " pixels) up to " + std::to_string(largest_side));
  if (!(full.strength >= 0 && full.strength <= 1))
    throw out_of_range("strength", std::to_string(full.strength), "from 0 to 1");
  if (request.preview && request.preview->every < 1)
    throw out_of_range("steps between previews", std::to_string(request.preview->every), "at least 1");
  if (request.preview && !request.preview->vae && !model.preview_map())
    throw InputError(io::shown(model.path) + ": there is no map from its " +
                     std::to_string(model.vae.latent_channels) +
                     " latent channels to colours: let the VAE make previews (--preview-vae)");
  if (request.image) image::check_pixels(*request.image, "the image to start from");
  if (request.image && request.latents)
    throw InputError("an image and latents are both given to start from: give one of them");
  if (request.image && sampling::img2img_start(*full.steps, full.strength) >= *full.steps)
    throw out_of_range("strength", std::to_string(full.strength),
                       "large enough for one of the " + std::to_string(*full.steps) +
                           " steps: raise it, or the number of steps");
  return full;
}

MemoryEstimate FluxPipeline::estimate(const Request& request) const {
  const Request full = with_defaults(request);
  const auto session = parts_->backend.start();
  families::ComponentMeter meter(parts_->backend.counted_memory());
  parts_->run(full, request, {{}, &meter});
  MemoryEstimate estimate = meter.estimate();
  estimate.held = parts_->backend.held_memory();
  estimate.code = parts_->backend.code_memory();
  return estimate;
}

void FluxPipeline::check(const Request& request) const {
  const Request full = with_defaults(request);
  parts_->check_latents(full, request.latents);
  for (const std::string& prompt : full.prompts) parts_->tokenized(prompt, *full.max_sequence_length);
  for (const families::ComponentInfo& component : family().components())
    io::ComponentSource{parts_->model.component(component.name)};
  families::require_memory(parts_->model.path, estimate(request), parts_->choices,
                           parts_->backend.free_memory());
  sampling::sigmas(parts_->model.scheduler, *full.steps, parts_->layout(full).tokens());
}

Result FluxPipeline::Parts::run(const Request& full, const Request& given, const Reporter& progress) const {
  const int first_step = given.image ? sampling::img2img_start(*full.steps, full.strength) : 0;
  const std::vector<f32> sigmas = DryRun::active()
                                      ? std::vector<f32>(static_cast<std::size_t>(*full.steps) + 1)
                                      : sampling::sigmas(model.scheduler, *full.steps, layout(full).tokens());
  Result result;
  result.sampler = "Euler";
  families::give_back_memory();
  const std::vector<Prompt> prompts = encode_prompts(full, progress, result);
  result.latents = initial_latents(full, given, sigmas, first_step, progress, result);
  denoise(full, given, prompts, sigmas, first_step, progress, result);
  families::give_back_memory();
  decode(full, progress, result);
  families::give_back_memory();
  return result;
}

Result FluxPipeline::generate(const Request& request, const ProgressCallback& progress) const {
  check(request);
  Request full = with_defaults(request);
  const auto session = parts_->backend.start();
  parts_->backend.reset_peak_memory();
  Result result = parts_->run(full, request, {progress});
  result.peak_bytes = parts_->backend.peak_memory();
  result.used = std::move(full);
  return result;
}

}  // namespace precast::flux
