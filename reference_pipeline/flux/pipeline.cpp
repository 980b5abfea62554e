// Runs the stages of a Flux pipeline: text, noise, denoising, decoding; one component in memory at a time.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <families/backend.hpp>
#include <families/free_memory.hpp>
#include <families/memory_estimate.hpp>
#include <families/request_error.hpp>
#include <flux/family.hpp>
#include <flux/latents.hpp>
#include <flux/model_folder.hpp>
#include <flux/models.hpp>
#include <flux/negative_prompt.hpp>
#include <flux/pipeline.hpp>
#include <image/fit.hpp>
#include <image/resize.hpp>
#include <image/tensor_image.hpp>
#include <sampling/flow_match_euler.hpp>
#include <sampling/torch_random.hpp>
#include <text/clip_tokenizer.hpp>
#include <text/lost_words.hpp>
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

families::RequestError out_of_range(std::string_view what, const std::string& value,
                                    const std::string& range) {
  return families::RequestError(std::string(what) + " is " + value + ": it must be " + range);
}

/// "0.6": the shortest decimal text that reads back as the same number.
std::string shortest(double value) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
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

/// The nearest sides that a picture can have: "416 or 432".
std::string nearest_sides(int side, int multiple) {
  const int below = std::clamp(side / multiple * multiple, multiple, largest_side / multiple * multiple);
  const int above = below + multiple;
  const bool one = side < below || above > largest_side || side % multiple == 0;
  return std::to_string(below) + (one ? "" : " or " + std::to_string(above));
}

/// Every text of a request that is encoded: its prompts, then what to keep away from.
std::vector<std::string> texts_of(const Request& request) {
  std::vector<std::string> texts = request.prompts;
  if (request.negative) texts.push_back(*request.negative);
  return texts;
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

/// What all pictures of a run are denoised with. Without steps they stay as they are.
struct Denoising {
  std::span<const Prompt> prompts;
  std::vector<DenoiseStep> steps;
  std::span<const f32> levels;  ///< of noise, before each step and after the last
  std::optional<families::PreviewWish> preview;

  bool previews_by_vae() const { return preview && preview->vae; }
};

/// Whether each picture is decoded as soon as it is denoised, with both models in memory, or all of them at
/// the end, with one model in memory at a time.
enum class Order : bool { in_stages, one_by_one };

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
  /// The step that denoising begins with; all of them where the picture to start from is kept.
  static int first_step(const Request& full, const Request& given) {
    return given.image ? sampling::img2img_start(*full.steps, full.strength) : 0;
  }
  static std::int64_t pictures(const Request& request) {
    return static_cast<std::int64_t>(request.prompts.size()) * request.batch;
  }
  /// Throws InputError where an encoder has no row for a token.
  Tokens tokenized(const std::string& prompt, const Request& full) const {
    const int longest = *full.max_sequence_length;
    Tokens tokens{
        padded(clip_tokenizer.encode(prompt, clip_length()), clip_length(), clip_tokenizer.pad_id()),
        t5_tokenizer.encode(prompt, longest)};
    const auto length = std::max(std::ssize(tokens.t5), std::ptrdiff_t{full.padding.value_or(longest)});
    tokens.t5 = padded(std::move(tokens.t5), length, t5_tokenizer.pad_id());
    check_vocabulary(model.component("text_encoder"), tokens.clip, model.clip.vocab_size);
    check_vocabulary(model.component("text_encoder_2"), tokens.t5, model.t5.vocab_size);
    return tokens;
  }

  /// Opens a component's weights, and reports each byte that is taken under the stage's name.
  template <class Use>
  auto with_weights(std::string_view component, std::string_view stage, const Reporter& progress,
                    Use&& use) const {
    if (progress.meter) progress.meter->begin(stage == "load VAE encoder" ? "vae encoder" : component);
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
  /// goes through them with one step of one picture, or of two where they come one by one.
  Result run(Request full, const Request& given, Order order, const Reporter& progress,
             const families::PictureCallback& on_picture) const;
  std::vector<Prompt> encode_prompts(const Request& request, const Reporter& progress, Result& result) const;
  Tensor<f32> initial_latents(const Request& request, const Request& given, std::span<const f32> sigmas,
                              int first_step, const Reporter& progress, Result& result) const;
  std::unique_ptr<Transformer> load_transformer(const Reporter& progress, Result& result) const;
  std::unique_ptr<vae::Decoder> load_decoder(const Reporter& progress, Result& result) const;
  /// Bytes of one picture.
  static std::int64_t picture_bytes(const Request& request) {
    return std::int64_t{3} * *request.width * *request.height;
  }
  /// Each on the picture of that number: its latents, and what they are decoded to.
  void denoise(const Transformer& transformer, const vae::Decoder* previews, std::int64_t picture,
               const Denoising& denoising, const Reporter& progress, Result& result) const;
  /// Shows what the latents of a picture are without their noise, by the decoder or, where there is none, by
  /// the sums of their channels.
  void show_preview(const families::PreviewWish& wish, const vae::Decoder* decoder,
                    HostView<const f32> latents, const Request& request, families::Preview preview) const;
  void decode(const vae::Decoder& decoder, std::int64_t picture, const Reporter& progress,
              const families::PictureCallback& on_picture, Result& result) const;
  void paint_one_by_one(const Denoising& denoising, const Reporter& progress,
                        const families::PictureCallback& on_picture, Result& result) const;
  void paint_in_stages(const Denoising& denoising, const Reporter& progress,
                       const families::PictureCallback& on_picture, Result& result) const;
  /// How a request is going to run, and what that takes.
  std::pair<Order, MemoryEstimate> plan(const FluxPipeline& pipeline, const Request& request) const;
};

std::vector<Prompt> FluxPipeline::Parts::encode_prompts(const Request& request, const Reporter& progress,
                                                        Result& result) const {
  std::vector<Tokens> tokens;
  for (const std::string& text : texts_of(request)) tokens.push_back(tokenized(text, request));
  std::vector<Prompt> prompts(tokens.size());
  if (DryRun::active())  // in which the first stands for all
    std::ranges::swap(tokens.front(),
                      *std::ranges::max_element(tokens, {}, [](const Tokens& ids) { return ids.t5.size(); }));
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
      [&](const auto& source) {
        return models_of(backend, choices.of(families::Role::second_text_encoder)).t5(model.t5, source);
      },
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
  const Shape drawn{count, packed.channels, packed.height, packed.width};
  const Shape drawn_alone{1, packed.channels, packed.height, packed.width};
  if (!given.image && !request.seed_step)
    return pack(sampling::TorchGenerator(request.seed).randn(drawn), count, packed);
  if (!given.image) {
    Tensor<f32> noise(drawn);
    for (std::int64_t picture = 0; picture < count; ++picture) {
      const Tensor<f32> own = sampling::TorchGenerator(picture_seed(request, picture)).randn(drawn_alone);
      if (!DryRun::active()) std::copy_n(own.data(), own.elements(), noise.data() + picture * own.elements());
    }
    return pack(noise, count, packed);
  }

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
  Tensor<f32> sample(drawn_alone), noised(drawn);
  const auto scale = static_cast<f32>(model.vae.scaling_factor),
             shift = static_cast<f32>(model.vae.shift_factor);
  const std::int64_t pixels = packed.height * packed.width;
  const f32 sigma = sigmas[static_cast<std::size_t>(first_step)];
  const auto per_picture = static_cast<std::size_t>(sample.elements());
  const std::int64_t of_one_seed = request.seed_step ? 1 : count;
  for (std::int64_t first = 0; first < count; first += of_one_seed) {
    sampling::TorchGenerator generator(picture_seed(request, first));
    const Tensor<f32> sample_noise = generator.randn(drawn_alone);
    for (std::int64_t channel = 0; channel < packed.channels && !DryRun::active(); ++channel)
      for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
        const std::int64_t from = pixel * packed.channels + channel, to = channel * pixels + pixel;
        const f32 log_variance = std::clamp(moments.log_variance.data()[from], -30.0f, 20.0f);
        const f32 value = moments.mean.data()[from] + std::exp(0.5f * log_variance) * sample_noise.data()[to];
        sample.data()[to] = (value - shift) * scale;
      }
    const Tensor<f32> noise =
        generator.randn(Shape{of_one_seed, packed.channels, packed.height, packed.width});
    for (std::int64_t picture = 0; picture < of_one_seed; ++picture) {
      const HostView<const f32> own(noise.data() + picture * sample.elements(), sample.shape());
      const Tensor<f32> mixed = sampling::scale_noise(sample, own, sigma);
      if (DryRun::active()) continue;
      std::copy_n(mixed.data(), per_picture, noised.data() + (first + picture) * sample.elements());
    }
  }
  if (progress) progress({"encode image", 1, 1});
  return pack(noised, count, packed);
}

std::unique_ptr<Transformer> FluxPipeline::Parts::load_transformer(const Reporter& progress,
                                                                   Result& result) const {
  const auto start = std::chrono::steady_clock::now();
  auto transformer = with_weights("transformer", "load transformer", progress, [&](const auto& source) {
    return models_of(backend, choices.transformer).transformer(model.transformer, source);
  });
  result.load_seconds += seconds_since(start);
  return transformer;
}

std::unique_ptr<vae::Decoder> FluxPipeline::Parts::load_decoder(const Reporter& progress,
                                                                Result& result) const {
  const auto start = std::chrono::steady_clock::now();
  auto decoder = with_weights("vae", "load VAE decoder", progress, [&](const auto& source) {
    return models_of(backend, choices.vae).decoder(model.vae, source);
  });
  result.load_seconds += seconds_since(start);
  return decoder;
}

void FluxPipeline::Parts::show_preview(const families::PreviewWish& wish, const vae::Decoder* decoder,
                                       HostView<const f32> latents, const Request& request,
                                       families::Preview preview) const {
  const PackedLayout packed = layout(request);
  if (decoder) {
    const HostTensor<f32> pixels =
        decoder->decode(unpack(latents, packed, static_cast<f32>(model.vae.scaling_factor),
                               static_cast<f32>(model.vae.shift_factor)));
    if (DryRun::active()) return;
    preview.picture = std::move(image::to_images(pixels).images.front());
  } else {
    if (DryRun::active()) return;
    preview.picture =
        image::resize(model.preview_map()->picture(latents, packed), *request.width, *request.height);
  }
  wish.show(preview);
}

void FluxPipeline::Parts::denoise(const Transformer& transformer, const vae::Decoder* previews,
                                  std::int64_t picture, const Denoising& denoising, const Reporter& progress,
                                  Result& result) const {
  const auto start = std::chrono::steady_clock::now();
  const PackedLayout packed = layout(result.used);
  const Shape one{packed.tokens(), packed.token_channels()};
  const auto steps = static_cast<std::int64_t>(denoising.steps.size());
  const Prompt& prompt = denoising.prompts[static_cast<std::size_t>(picture / result.used.batch)];
  TransformerInput input;
  input.guidance = static_cast<f32>(result.used.guidance.value_or(0));
  input.rows = packed.height / 2;
  input.columns = packed.width / 2;
  input.prompt = prompt.embeddings;
  input.pooled = prompt.pooled;
  const HostView<f32> latents(result.latents.data() + picture * one.elements(), one);
  const Prompt& negative = denoising.prompts.back();
  const std::int64_t taken = DryRun::active() ? 1 : steps;
  // A preview comes between two calls, each of which takes some of the steps: the same steps either way.
  const std::int64_t at_once =
      denoising.preview ? std::min<std::int64_t>(denoising.preview->every, taken) : taken;
  for (std::int64_t done = 0; done < taken; done += at_once) {
    const std::int64_t next = std::min(done + at_once, taken);
    const auto run = std::span(denoising.steps)
                         .subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(next - done));
    const BeforeStep before_step = [&](std::int64_t step) {
      if (progress) progress({"denoise", picture * steps + done + step, pictures(result.used) * steps});
    };
    std::optional<Tensor<f32>> before;
    if (denoising.preview) before.emplace(one, latents.values());
    if (result.used.negative)
      denoise_away_from(transformer, latents, input,
                        {negative.embeddings, negative.pooled, result.used.cfg_scale}, run, before_step);
    else
      transformer.denoise(latents, input, run, before_step);
    if (!denoising.preview) continue;
    const auto level = [&](std::int64_t step) { return denoising.levels[static_cast<std::size_t>(step)]; };
    show_preview(*denoising.preview, previews, without_noise(*before, level(done), latents, level(next)),
                 result.used, {{}, picture, next, steps});
  }
  result.steps += steps;
  if (progress && picture + 1 == pictures(result.used))
    progress({"denoise", pictures(result.used) * steps, pictures(result.used) * steps});
  result.denoise_seconds += seconds_since(start);
}

void FluxPipeline::Parts::decode(const vae::Decoder& decoder, std::int64_t picture, const Reporter& progress,
                                 const families::PictureCallback& on_picture, Result& result) const {
  const auto start = std::chrono::steady_clock::now();
  const Request& request = result.used;
  const PackedLayout packed = layout(request);
  const std::int64_t count = pictures(request);
  if (progress) progress({"decode", picture, count});
  const HostView<const f32> own(result.latents.data() + picture * packed.tokens() * packed.token_channels(),
                                Shape{packed.tokens(), packed.token_channels()});
  const Tensor<f32> latents = unpack(own, packed, static_cast<f32>(model.vae.scaling_factor),
                                     static_cast<f32>(model.vae.shift_factor));
  if (DryRun::active()) {
    DryHold made_of_them;
    {
      const HostTensor<f32> pixels = decoder.decode(latents);
      made_of_them.add(picture_bytes(request));
    }
    if (request.written_as)
      const DryHold encoder(image::encoding_bytes(*request.written_as, *request.width, *request.height));
    return;
  }
  image::Pictures decoded = image::to_images(decoder.decode(latents));
  result.images.push_back(std::move(decoded.images.front()));
  result.nan_values += decoded.nan;
  result.prompts.push_back(request.prompts[static_cast<std::size_t>(picture / request.batch)]);
  if (progress && picture + 1 == count) progress({"decode", count, count});
  result.decode_seconds += seconds_since(start);
  if (on_picture) on_picture(result);
}

void FluxPipeline::Parts::paint_one_by_one(const Denoising& denoising, const Reporter& progress,
                                           const families::PictureCallback& on_picture,
                                           Result& result) const {
  std::unique_ptr<vae::Decoder> decoder;
  if (denoising.previews_by_vae()) decoder = load_decoder(progress, result);
  const auto transformer = load_transformer(progress, result);
  const std::int64_t count = pictures(result.used);
  const DryHold others((count - 1) * picture_bytes(result.used));  // beside the last one
  for (std::int64_t picture = 0; picture < (DryRun::active() ? 2 : count); ++picture) {
    denoise(*transformer, denoising.previews_by_vae() ? decoder.get() : nullptr, picture, denoising, progress,
            result);
    families::give_back_memory();
    if (!decoder) decoder = load_decoder(progress, result);
    decode(*decoder, picture, progress, on_picture, result);
    families::give_back_memory();
  }
}

void FluxPipeline::Parts::paint_in_stages(const Denoising& denoising, const Reporter& progress,
                                          const families::PictureCallback& on_picture, Result& result) const {
  const std::int64_t count = pictures(result.used), seen = DryRun::active() ? 1 : count;
  std::unique_ptr<vae::Decoder> decoder;
  if (denoising.previews_by_vae()) decoder = load_decoder(progress, result);
  if (!denoising.steps.empty()) {
    const auto transformer = load_transformer(progress, result);
    for (std::int64_t picture = 0; picture < seen; ++picture)
      denoise(*transformer, decoder.get(), picture, denoising, progress, result);
  }
  families::give_back_memory();
  if (!decoder) decoder = load_decoder(progress, result);
  const DryHold others((count - 1) * picture_bytes(result.used));  // beside the last one
  for (std::int64_t picture = 0; picture < seen; ++picture)
    decode(*decoder, picture, progress, on_picture, result);
}

FluxPipeline::FluxPipeline(const std::filesystem::path& folder, const ComponentChoices& choices)
    : FluxPipeline(folder, choices, families::cpu_backend()) {}

FluxPipeline::FluxPipeline(const std::filesystem::path& folder, const ComponentChoices& choices,
                           const families::Backend& backend) {
  for (const families::Role role : families::all_roles) require_path(choices.of(role));
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

std::vector<families::CutPrompt> FluxPipeline::cut_prompts(const Request& request) const {
  constexpr int all = std::numeric_limits<int>::max();
  const Request full = with_defaults(request);
  const int clip = parts_->clip_length(), t5 = *full.max_sequence_length;
  std::vector<families::CutPrompt> cut;
  const auto look = [&](std::size_t number, const std::string& prompt, bool negative) {
    const auto by = [&](std::string_view encoder, int length, const auto& tokenizer) {
      const auto tokens = [&](std::string_view text) { return std::ssize(tokenizer.encode(text, all)); };
      std::string lost = text::lost_words(prompt, length, tokens);
      if (!lost.empty()) cut.push_back({number, encoder, length, std::move(lost), negative});
    };
    by("CLIP", clip, parts_->clip_tokenizer);
    by("T5", t5, parts_->t5_tokenizer);
  };
  for (std::size_t number = 0; number < full.prompts.size(); ++number)
    look(number, full.prompts[number], false);
  if (full.negative) look(0, *full.negative, true);
  return cut;
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
  full.written_as = request.written_as;
  full.seed_step = request.seed_step;
  full.cfg_scale = request.cfg_scale;
  if (request.cfg_scale != 1) full.negative = request.negative.value_or("");
  full.steps = request.steps ? request.steps : model.defaults.steps.value_or(guided ? 28 : 4);
  full.guidance = request.guidance ? request.guidance : model.defaults.guidance.value_or(3.5);
  full.max_sequence_length = request.max_sequence_length.value_or(parts_->default_t5_length());
  full.padding = request.padding;
  full.width = request.width ? request.width : model.defaults.width.value_or(usual_side);
  full.height = request.height ? request.height : model.defaults.height.value_or(usual_side);

  if (full.prompts.empty()) throw families::RequestError("there is no prompt: give at least one");
  if (*full.steps < 1 || *full.steps > most_steps)
    throw out_of_range("steps", std::to_string(*full.steps), "from 1 to " + std::to_string(most_steps));
  if (!(*full.guidance >= 0 && *full.guidance <= 1000))
    throw out_of_range("guidance", shortest(*full.guidance), "from 0 to 1000");
  if (*full.max_sequence_length < 1 || *full.max_sequence_length > longest_t5)
    throw out_of_range("max sequence length", std::to_string(*full.max_sequence_length),
                       "from 1 to " + std::to_string(longest_t5));
  if (full.padding && (*full.padding < 1 || *full.padding > *full.max_sequence_length))
    throw out_of_range("T5 padding", std::to_string(*full.padding),
                       "from 1 to the max sequence length, " + std::to_string(*full.max_sequence_length));
  if (!guided) full.guidance.reset();  // it has been looked at, and does nothing
  if (!(full.cfg_scale >= 1 && full.cfg_scale <= 1000))
    throw out_of_range("CFG scale", std::to_string(full.cfg_scale), "from 1 (without) to 1000");
  if (full.batch < 1 || Parts::pictures(full) > most_pictures)
    throw out_of_range("batch", std::to_string(full.batch),
                       "at least 1, for at most " + std::to_string(most_pictures) + " pictures in all");
  for (const auto& [what, side] : {std::pair("width", *full.width), std::pair("height", *full.height)})
    if (side < 1 || side > largest_side || side % (2 * factor) != 0)
      throw out_of_range(what, std::to_string(side),
                         "a multiple of " + std::to_string(2 * factor) + " (two latents of " +
                             std::to_string(factor) + " pixels) up to " + std::to_string(largest_side) +
                             ": try " + nearest_sides(side, 2 * factor));
  if (!(full.strength >= 0 && full.strength <= 1))
    throw out_of_range("strength", shortest(full.strength), "from 0 to 1");
  if (request.preview && request.preview->every < 1)
    throw out_of_range("steps between previews", std::to_string(request.preview->every), "at least 1");
  if (request.preview && !request.preview->vae && !model.preview_map())
    throw families::RequestError("there is no map from the " + std::to_string(model.vae.latent_channels) +
                                 " latent channels of " + io::shown(model.path) +
                                 " to colours: let the VAE make previews (--preview-vae)");
  if (request.image) image::check_pixels(*request.image, "the image to start from");
  if (request.image && request.latents)
    throw families::RequestError("an image and latents are both given to start from: give one of them");
  if (request.image && full.strength > 0 && Parts::first_step(full, request) >= *full.steps)
    throw out_of_range("strength", shortest(full.strength),
                       "0, which keeps the picture, or large enough for one of the " +
                           std::to_string(*full.steps) + " steps: raise it, or the number of steps");
  return full;
}

std::pair<Order, MemoryEstimate> FluxPipeline::Parts::plan(const FluxPipeline& pipeline,
                                                           const Request& request) const {
  const auto needed = [&](Order order) {
    const auto session = backend.start();
    families::ComponentMeter meter(backend.counted_memory());
    run(pipeline.with_defaults(request), request, order, {{}, &meter}, {});
    MemoryEstimate estimate = meter.estimate();
    estimate.held = backend.held_memory();
    if (backend.counted_memory() == DryRun::Counts::host_memory)
      estimate.largest_so_far = families::peak_resident_memory();
    estimate.code = backend.code_memory();
    return estimate;
  };
  const Request full = pipeline.with_defaults(request);
  if (pictures(full) > 1 && first_step(full, request) < *full.steps) {
    MemoryEstimate estimate = needed(Order::one_by_one);
    const auto free_bytes = backend.free_memory();
    if (!free_bytes || estimate.needed() <= *free_bytes) return {Order::one_by_one, std::move(estimate)};
  }
  return {Order::in_stages, needed(Order::in_stages)};
}

MemoryEstimate FluxPipeline::estimate(const Request& request) const {
  return parts_->plan(*this, request).second;
}

void FluxPipeline::check(const Request& request) const {
  const Request full = with_defaults(request);
  parts_->check_latents(full, request.latents);
  for (const std::string& text : texts_of(full)) parts_->tokenized(text, full);
  for (const families::ComponentInfo& component : family().components())
    io::ComponentSource{parts_->model.component(component.name)};
  families::require_memory(parts_->model.path, estimate(request), parts_->choices,
                           parts_->backend.free_memory());
  sampling::sigmas(parts_->model.scheduler, *full.steps, parts_->layout(full).tokens());
}

Result FluxPipeline::Parts::run(Request full, const Request& given, Order order, const Reporter& progress,
                                const families::PictureCallback& on_picture) const {
  Result result;
  result.used = std::move(full);
  result.sampler = "Euler";
  const Request& request = result.used;
  const int first = first_step(request, given);
  const std::vector<f32> sigmas =
      DryRun::active() ? std::vector<f32>(static_cast<std::size_t>(*request.steps) + 1)
                       : sampling::sigmas(model.scheduler, *request.steps, layout(request).tokens());
  Denoising denoising;
  for (auto at = static_cast<std::size_t>(first); at + 1 < sigmas.size(); ++at)
    denoising.steps.push_back(
        {sampling::model_timestep<f32>(model.scheduler, sigmas[at]), sigmas[at + 1] - sigmas[at]});
  denoising.levels = std::span(sigmas).subspan(static_cast<std::size_t>(first));
  denoising.preview = given.preview;
  families::give_back_memory();
  std::vector<Prompt> prompts;
  if (!denoising.steps.empty()) prompts = encode_prompts(request, progress, result);
  denoising.prompts = prompts;
  result.latents = initial_latents(request, given, sigmas, first, progress, result);
  if (order == Order::one_by_one)
    paint_one_by_one(denoising, progress, on_picture, result);
  else
    paint_in_stages(denoising, progress, on_picture, result);
  families::give_back_memory();
  return result;
}

Result FluxPipeline::generate(const Request& request, const ProgressCallback& progress,
                              const families::PictureCallback& on_picture) const {
  check(request);
  const Order order = parts_->plan(*this, request).first;
  const auto session = parts_->backend.start();
  parts_->backend.reset_peak_memory();
  Result result = parts_->run(with_defaults(request), request, order, {progress}, on_picture);
  result.peak_bytes = parts_->backend.peak_memory();
  return result;
}

}  // namespace precast::flux
