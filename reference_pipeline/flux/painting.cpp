// The stages of a run: texts are encoded, latents drawn, denoised and decoded.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <families/decode_stage.hpp>
#include <families/denoising_rounds.hpp>
#include <families/fitted_picture.hpp>
#include <families/free_memory.hpp>
#include <flux/latents.hpp>
#include <flux/models.hpp>
#include <flux/negative_prompt.hpp>
#include <flux/pipeline_parts.hpp>
#include <image/resize.hpp>
#include <image/tensor_image.hpp>
#include <sampling/flow_match_euler.hpp>
#include <sampling/torch_random.hpp>
#include <text/padded_tokens.hpp>

#include <precast/memory/dry_run.hpp>

namespace precast::flux {

using families::seconds_since, families::texts_of, text::check_vocabulary, text::padded, text::prompt_ids;

Tokens FluxPipeline::Parts::tokenized(const std::string& prompt, const Request& full) const {
  const int longest = *full.max_sequence_length;
  Tokens tokens{
      padded(prompt_ids(clip_tokenizer, prompt, clip_length()), clip_length(), clip_tokenizer.pad_id()),
      prompt_ids(t5_tokenizer, prompt, longest)};
  const auto length = std::max(std::ssize(tokens.t5), std::ptrdiff_t{full.padding.value_or(longest)});
  tokens.t5 = padded(std::move(tokens.t5), length, t5_tokenizer.pad_id());
  check_vocabulary(model.component("text_encoder"), tokens.clip, model.clip.vocab_size);
  check_vocabulary(model.component("text_encoder_2"), tokens.t5, model.t5.vocab_size);
  return tokens;
}

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
    const image::Image fitted = families::fitted_picture(*given.image, request);
    if (DryRun::active()) {
      const DryHold resized(std::int64_t{3} * *request.width * *request.height);
      return encoder->encode(Tensor<f32>(Shape{1, *request.height, *request.width, 3}),
                             families::tiling_of(request));
    }
    return encoder->encode(image::to_tensor(fitted), families::tiling_of(request));
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

std::unique_ptr<BlockwiseTransformer> FluxPipeline::Parts::load_transformer(const Reporter& progress,
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
                               static_cast<f32>(model.vae.shift_factor)),
                        families::tiling_of(request));
    if (DryRun::active()) return;
    preview.picture = std::move(image::to_images(pixels).images.front());
  } else {
    if (DryRun::active()) return;
    preview.picture = image::resize(model.preview_map()->picture(unpack(latents, packed, 1, 0)),
                                    *request.width, *request.height);
  }
  wish.show(preview);
}

void FluxPipeline::Parts::denoise(const BlockwiseTransformer& transformer, const vae::Decoder* previews,
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
  const std::int64_t taken = families::rounds_to_run(steps);
  const std::int64_t at_once = denoising.at_once(taken);
  for (std::int64_t done = 0; done < taken; done += at_once) {
    const std::int64_t next = std::min(done + at_once, taken);
    const auto run = std::span(denoising.steps)
                         .subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(next - done));
    const BeforeStep before_step = [&](std::int64_t step) {
      if (progress) progress({"denoise", picture * steps + done + step, pictures(result.used) * steps});
    };
    if (denoising.recording) {
      TransformerInput now = input;
      now.latents = latents;
      now.timestep = run.front().timestep;
      denoising.recording->take({transformer.state_before_blocks(now), picture, done, now.timestep});
    }
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
  const auto latents = [&] {
    const PackedLayout packed = layout(result.used);
    const HostView<const f32> own(result.latents.data() + picture * packed.tokens() * packed.token_channels(),
                                  Shape{packed.tokens(), packed.token_channels()});
    return unpack(own, packed, static_cast<f32>(model.vae.scaling_factor),
                  static_cast<f32>(model.vae.shift_factor));
  };
  families::decode_picture(decoder, picture, latents, progress, on_picture, result);
}

void FluxPipeline::Parts::paint_one_by_one(const Denoising& denoising, const Reporter& progress,
                                           const families::PictureCallback& on_picture,
                                           Result& result) const {
  std::unique_ptr<vae::Decoder> decoder;
  if (denoising.previews_by_vae()) decoder = load_decoder(progress, result);
  const auto transformer = load_transformer(progress, result);
  const std::int64_t count = pictures(result.used);
  const DryHold others((count - 1) * families::picture_bytes(result.used));  // beside the last one
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
  const DryHold others((count - 1) * families::picture_bytes(result.used));  // beside the last one
  for (std::int64_t picture = 0; picture < seen; ++picture)
    decode(*decoder, picture, progress, on_picture, result);
}

Denoising FluxPipeline::Parts::prepared(const Request& given, const Reporter& progress, Result& result,
                                        std::vector<f32>& sigmas, std::vector<Prompt>& prompts) const {
  result.sampler = "Euler";
  const Request& request = result.used;
  const int first = first_step(request, given);
  sigmas = DryRun::active() ? std::vector<f32>(static_cast<std::size_t>(*request.steps) + 1)
                            : sampling::sigmas(model.scheduler, *request.steps, layout(request).tokens());
  Denoising denoising;
  for (auto at = static_cast<std::size_t>(first); at + 1 < sigmas.size(); ++at)
    denoising.steps.push_back(
        {sampling::model_timestep<f32>(model.scheduler, sigmas[at]), sigmas[at + 1] - sigmas[at]});
  denoising.levels = std::span(sigmas).subspan(static_cast<std::size_t>(first));
  denoising.preview = given.preview;
  families::give_back_memory();
  if (!denoising.steps.empty()) prompts = encode_prompts(request, progress, result);
  denoising.prompts = prompts;
  result.latents = initial_latents(request, given, sigmas, first, progress, result);
  return denoising;
}

Result FluxPipeline::Parts::run(Request full, const Request& given, Order order, const Reporter& progress,
                                const families::PictureCallback& on_picture) const {
  Result result;
  result.used = std::move(full);
  std::vector<f32> sigmas;
  std::vector<Prompt> prompts;
  const Denoising denoising = prepared(given, progress, result, sigmas, prompts);
  if (order == Order::one_by_one)
    paint_one_by_one(denoising, progress, on_picture, result);
  else
    paint_in_stages(denoising, progress, on_picture, result);
  families::give_back_memory();
  return result;
}

void FluxPipeline::Parts::record(Request full, const Request& given, const families::Recording& recording,
                                 const Reporter& progress) const {
  Result result;
  result.used = std::move(full);
  std::vector<f32> sigmas;
  std::vector<Prompt> prompts;
  Denoising denoising = prepared(given, progress, result, sigmas, prompts);
  denoising.recording = &recording;
  if (denoising.steps.empty()) return;
  const auto transformer = load_transformer(progress, result);
  for (std::int64_t picture = 0; picture < pictures(result.used); ++picture)
    denoise(*transformer, nullptr, picture, denoising, progress, result);
}

}  // namespace precast::flux
