// The stages of a run, one after the other; latents are denoised and decoded.
#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <families/decode_stage.hpp>
#include <families/denoising_rounds.hpp>
#include <flux/latents.hpp>
#include <flux/models.hpp>
#include <flux/negative_prompt.hpp>
#include <flux/pipeline_parts.hpp>
#include <image/resize.hpp>
#include <image/tensor_image.hpp>
#include <process/memory.hpp>
#include <sampling/flow_match_euler.hpp>

#include <precast/memory/dry_run.hpp>
#include <precast/watch/input_squares.hpp>

namespace precast::flux {

std::unique_ptr<BlockwiseTransformer> FluxPipeline::Parts::load_transformer(const Reporter& progress,
                                                                            Result& result) const {
  const auto start = std::chrono::steady_clock::now();
  auto transformer = with_weights({"transformer", "load transformer"}, progress, [&](const auto& source) {
    return models_of(backend, choices.denoiser).transformer(model.transformer, source);
  });
  result.load_seconds += process::seconds_since(start);
  return transformer;
}

std::unique_ptr<vae::Decoder> FluxPipeline::Parts::load_decoder(const Reporter& progress,
                                                                Result& result) const {
  const auto start = std::chrono::steady_clock::now();
  auto decoder = with_weights({"vae", "load VAE decoder"}, progress, [&](const auto& source) {
    return models_of(backend, choices.vae).decoder(model.vae, source);
  });
  result.load_seconds += process::seconds_since(start);
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
  double preview_seconds = 0;
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
      // What this computes once more than the picture needs is not counted among what layers read.
      watch::InputSquares ignored;
      std::optional<watch::CountingInputSquares> elsewhere;
      if (watch::counted_input_squares()) elsewhere.emplace(ignored);
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
    const auto shown = std::chrono::steady_clock::now();
    const auto level = [&](std::int64_t step) { return denoising.levels[static_cast<std::size_t>(step)]; };
    show_preview(*denoising.preview, previews, without_noise(*before, level(done), latents, level(next)),
                 result.used, {{}, picture, next, steps});
    preview_seconds += process::seconds_since(shown);
  }
  result.steps += steps;
  if (progress && picture + 1 == pictures(result.used))
    progress({"denoise", pictures(result.used) * steps, pictures(result.used) * steps});
  result.denoise_seconds += process::seconds_since(start) - preview_seconds;
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
    process::give_back_memory();
    if (!decoder) decoder = load_decoder(progress, result);
    decode(*decoder, picture, progress, on_picture, result);
    process::give_back_memory();
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
  process::give_back_memory();
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
  process::give_back_memory();
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
  process::give_back_memory();
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
