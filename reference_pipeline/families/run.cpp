// The order of a run's stages, and the last of them: decodes latents to pixels, or, in a dry run, counts
// the memory of that.
#include <chrono>
#include <utility>

#include <families/run.hpp>
#include <image/resize.hpp>
#include <image/tensor_image.hpp>
#include <process/memory.hpp>
#include <process/seconds_since.hpp>

#include <precast/memory/dry_run.hpp>

namespace precast::families {

Result Run::make_pictures(Order order, const PictureCallback& on_picture) {
  const std::int64_t others = (count() - 1) * picture_bytes(full());  // beside the last picture
  std::unique_ptr<vae::Decoder> decoder;
  if (given_.preview && given_.preview->vae) decoder = load_decoder();
  const vae::Decoder* const previews = decoder.get();
  if (order == Order::one_by_one) {
    const LoadedDenoiser denoiser = load_denoiser(0);
    const DryHold made(others);
    for (std::int64_t picture = 0; picture < (DryRun::active() ? 2 : count()); ++picture) {
      denoise(denoiser, picture, previews);
      process::give_back_memory();
      if (!decoder) decoder = load_decoder();
      decode(*decoder, picture, on_picture);
      process::give_back_memory();
    }
    return std::move(result_);
  }
  const std::int64_t seen = DryRun::active() ? 1 : count();
  denoise_all(seen, previews);
  process::give_back_memory();
  if (!decoder) decoder = load_decoder();
  const DryHold made(others);
  for (std::int64_t picture = 0; picture < seen; ++picture) decode(*decoder, picture, on_picture);
  process::give_back_memory();
  return std::move(result_);
}

void Run::denoise_all(std::int64_t pictures, const vae::Decoder* previews) {
  for (std::int64_t number = 0; number < denoisers(); ++number) {
    const LoadedDenoiser denoiser = load_denoiser(number);
    for (std::int64_t picture = 0; picture < pictures; ++picture) denoise(denoiser, picture, previews);
  }
}

void Run::denoise(const LoadedDenoiser& denoiser, std::int64_t picture, const vae::Decoder* previews) {
  const auto start = std::chrono::steady_clock::now();
  const double previews_before = preview_seconds_;
  const auto tell = [&](std::int64_t done) {
    if (progress_) progress_({denoiser.words, done, count() * denoiser.steps});
  };
  denoiser.denoise(picture, previews, [&](std::int64_t step) { tell(picture * denoiser.steps + step); });
  result_.steps += denoiser.steps;
  if (picture + 1 == count()) tell(count() * denoiser.steps);
  result_.denoise_seconds += process::seconds_since(start) - (preview_seconds_ - previews_before);
}

std::optional<LatentsCallback> Run::preview_callback(const vae::Decoder* decoder, std::int64_t picture,
                                                     std::int64_t steps, WithoutNoise without_noise) {
  if (!given_.preview) return std::nullopt;
  return LatentsCallback{given_.preview->every, [=, this, without_noise = std::move(without_noise)](
                                                    std::int64_t previous, HostView<const f32> before,
                                                    std::int64_t step, HostView<const f32> now) {
                           show_preview(decoder, {{}, picture, step, steps},
                                        [&] { return without_noise(previous, before, step, now); });
                         }};
}

std::optional<Recording> Run::recording_of(std::int64_t picture) const {
  if (!recording_) return std::nullopt;
  return Recording{recording_->every, [this, picture](RecordedState at) {
                     at.picture = picture;
                     recording_->take(std::move(at));
                   }};
}

void Run::show_preview(const vae::Decoder* decoder, Preview preview,
                       const std::function<HostTensor<f32>()>& latents) {
  const auto start = std::chrono::steady_clock::now();
  HostTensor<f32> clean = latents();
  if (decoder) {
    const HostTensor<f32> pixels = decoder->decode(unscaled(std::move(clean)), tiling_of(full()));
    if (DryRun::active()) return;
    preview.picture = std::move(image::to_images(pixels).images.front());
  } else {
    if (DryRun::active()) return;
    preview.picture = image::resize(preview_map()->picture(clean), full().width, full().height);
  }
  given_.preview->show(preview);
  preview_seconds_ += process::seconds_since(start);
}

void Run::decode(const vae::Decoder& decoder, std::int64_t picture, const PictureCallback& on_picture) {
  const auto start = std::chrono::steady_clock::now();
  if (progress_) progress_({"decode", picture, count()});
  const HostTensor<f32> latents = unscaled(latents_of(picture));
  if (DryRun::active()) {
    DryHold made_of_them;
    {
      const HostTensor<f32> pixels = decoder.decode(latents, tiling_of(full()));
      made_of_them.add(picture_bytes(full()));
    }
    if (full().written_as) {
      process::give_back_memory();
      const DryHold encoder(image::encoding_bytes(*full().written_as, full().width, full().height));
    }
    return;
  }
  image::Pictures decoded = image::to_images(decoder.decode(latents, tiling_of(full())));
  result_.images.push_back(std::move(decoded.images.front()));
  result_.nan_values += decoded.nan;
  result_.prompts.push_back(full().prompts[static_cast<std::size_t>(picture / full().batch)]);
  if (progress_ && picture + 1 == count()) progress_({"decode", count(), count()});
  result_.decode_seconds += process::seconds_since(start);
  if (!on_picture) return;
  process::give_back_memory();  // of decoding, before a file is made in memory
  on_picture(result_);
}

}  // namespace precast::families
