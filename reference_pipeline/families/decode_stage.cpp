// Latents become pixels, or, in a dry run, what that takes.
#include <chrono>
#include <utility>

#include <families/decode_stage.hpp>
#include <image/tensor_image.hpp>
#include <process/memory.hpp>

namespace precast::families {

void decode_picture(const vae::Decoder& decoder, std::int64_t picture,
                    const std::function<HostTensor<f32>()>& latents, const Reporter& progress,
                    const PictureCallback& on_picture, Result& result) {
  const auto start = std::chrono::steady_clock::now();
  const Request& request = result.used;
  const std::int64_t count = pictures(request);
  if (progress) progress({"decode", picture, count});
  const HostTensor<f32> given = latents();
  if (DryRun::active()) {
    DryHold made_of_them;
    {
      const HostTensor<f32> pixels = decoder.decode(given, tiling_of(request));
      made_of_them.add(picture_bytes(request));
    }
    if (request.written_as) {
      process::give_back_memory();
      const DryHold encoder(image::encoding_bytes(*request.written_as, *request.width, *request.height));
    }
    return;
  }
  image::Pictures decoded = image::to_images(decoder.decode(given, tiling_of(request)));
  result.images.push_back(std::move(decoded.images.front()));
  result.nan_values += decoded.nan;
  result.prompts.push_back(request.prompts[static_cast<std::size_t>(picture / request.batch)]);
  if (progress && picture + 1 == count) progress({"decode", count, count});
  result.decode_seconds += process::seconds_since(start);
  if (!on_picture) return;
  process::give_back_memory();  // what decoding took, before a file is made in memory
  on_picture(result);
}

}  // namespace precast::families
