#include <algorithm>
#include <cmath>

#include <image/tensor_image.hpp>

namespace precast::image {

Tensor<f32> to_tensor(const Image& image) {
  check_pixels(image, "to_tensor");
  Tensor<f32> result(Shape{1, image.height, image.width, 3});
  std::ranges::transform(image.rgb, result.data(),
                         [](std::uint8_t value) { return 2.0f * (static_cast<f32>(value) / 255.0f) - 1.0f; });
  return result;
}

Pictures to_images(HostView<const f32> values) {
  const Shape& shape = values.shape();
  if (shape.rank() != 4 || shape[3] != 3 || !allowed_size(shape[2], shape[1]))
    throw ShapeError("to_images takes [pictures, height, width, 3] with sides up to " +
                     std::to_string(max_side) + ", not " + to_string(shape));
  Pictures result;
  const std::int64_t pixels = shape[1] * shape[2];
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    Image image{static_cast<int>(shape[2]), static_cast<int>(shape[1]), {}};
    image.rgb.reserve(static_cast<std::size_t>(3 * pixels));
    for (std::int64_t j = i * pixels; j < (i + 1) * pixels; ++j) {
      for (const f32 value : values.row(j)) {
        const bool is_nan = std::isnan(value);
        result.nan += is_nan;
        const f32 level = is_nan ? 0.0f : std::clamp(value * 0.5f + 0.5f, 0.0f, 1.0f);
        image.rgb.push_back(static_cast<std::uint8_t>(std::nearbyint(level * 255.0f)));
      }
    }
    result.images.push_back(std::move(image));
  }
  return result;
}

}  // namespace precast::image
