// Run: makes a request's pictures. Order, progress, timing and previews of the stages are the same for
// every family; each family implements the stages.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include <families/blocks.hpp>
#include <families/denoising_loop.hpp>
#include <families/preview_map.hpp>
#include <families/request.hpp>
#include <families/stages.hpp>
#include <vae/autoencoder.hpp>

#include <precast/tensor/tensor.hpp>

namespace precast::families {

/// A denoiser in memory, and its share of a run.
struct LoadedDenoiser {
  std::string_view words;  ///< what progress calls it: "denoise"
  std::int64_t steps;      ///< of each picture
  /// Runs these steps on the latents of picture `picture`. Previews are made by the decoder, or, where it
  /// is null, by sums of channels. Each step begins with `before_step(its number)`, which may throw to
  /// cancel the run.
  std::function<void(std::int64_t picture, const vae::Decoder* previews,
                     const std::function<void(std::int64_t)>& before_step)>
      denoise;
};

/// One run of a pipeline. A family's derived class implements the stages; its constructor encodes the texts
/// and draws `result_.latents`.
class Run {
 public:
  virtual ~Run() = default;
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  /// Makes the pictures, once. A dry run makes one, or two where they come one by one.
  Result make_pictures(Order order, const PictureCallback& on_picture);
  /// Denoises all pictures to their final latents, without decoding them.
  void denoise_all() { denoise_all(count(), nullptr); }

 protected:
  /// `given` has what is not in `full`. With a recording, the run yields states and no pictures.
  Run(const ResolvedRequest& full, const Request& given, const Reporter& progress, const Recording* recording)
      : result_(full), given_(given), progress_(progress), recording_(recording) {}

  /// How many denoisers work on the pictures, one after another; 0 where the picture to start from is kept.
  virtual std::int64_t denoisers() const = 0;
  virtual LoadedDenoiser load_denoiser(std::int64_t number) = 0;
  virtual std::unique_ptr<vae::Decoder> load_decoder() = 0;
  /// A picture's latents [1, h, w, channels], as the denoiser has them.
  virtual HostTensor<f32> latents_of(std::int64_t picture) = 0;
  /// Such latents in the scale that the autoencoder takes.
  virtual HostTensor<f32> unscaled(HostTensor<f32> latents) const = 0;
  virtual std::optional<PreviewMap> preview_map() const = 0;

  const ResolvedRequest& full() const { return result_.used; }
  std::int64_t count() const { return pictures(full()); }
  /// Extrapolates the latents of two steps to those without noise, as `latents_of` has them.
  using WithoutNoise = std::function<HostTensor<f32>(std::int64_t previous, HostView<const f32> before,
                                                     std::int64_t step, HostView<const f32> now)>;
  /// The callback of a picture's loop of `steps` steps that shows the requested previews. Nothing where none
  /// are requested.
  std::optional<LatentsCallback> preview_callback(const vae::Decoder* decoder, std::int64_t picture,
                                                  std::int64_t steps, WithoutNoise without_noise);
  /// The run's recording, for a loop that does not know which picture it denoises.
  std::optional<Recording> recording_of(std::int64_t picture) const;

  Result result_;
  const Request& given_;
  Reporter progress_;

 private:
  void show_preview(const vae::Decoder* decoder, Preview preview,
                    const std::function<HostTensor<f32>()>& latents);
  void denoise_all(std::int64_t pictures, const vae::Decoder* previews);
  void denoise(const LoadedDenoiser& denoiser, std::int64_t picture, const vae::Decoder* previews);
  void decode(const vae::Decoder& decoder, std::int64_t picture, const PictureCallback& on_picture);

  const Recording* recording_;
  double preview_seconds_ = 0;
};

}  // namespace precast::families
