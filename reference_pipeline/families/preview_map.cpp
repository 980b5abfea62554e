#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include <families/preview_map.hpp>

#include <precast/error.hpp>

namespace precast::families {

PreviewMap PreviewMap::from(const io::Config& json) {
  const io::Config preview = json.object("preview");
  const auto colours = [&](const std::string& place, const nlohmann::json& row) {
    constexpr double largest = std::numeric_limits<f32>::max();
    std::array<f32, 3> values{};
    if (!row.is_array() || row.size() != values.size())
      throw preview.wrong(place, "must be three numbers, red, green and blue", row);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<f32>(preview.as_number(place, row[i], -largest, largest));
    return values;
  };
  return {preview.list("weights", colours), colours("bias", preview.value("bias"))};
}

image::Image PreviewMap::picture(HostView<const f32> latents) const {
  const Shape& shape = latents.shape();
  if (std::ssize(weights) != latents.columns())
    throw ShapeError("a preview map of " + std::to_string(weights.size()) + " channels is not one of " +
                     std::to_string(latents.columns()));
  image::Image result{static_cast<int>(shape[2]), static_cast<int>(shape[1]), {}};
  result.rgb.reserve(image::channels * static_cast<std::size_t>(latents.rows()));
  for (std::int64_t pixel = 0; pixel < latents.rows(); ++pixel) {
    const auto values = latents.row(pixel);
    std::array<f32, 3> sum = bias;
    for (std::size_t channel = 0; channel < weights.size(); ++channel)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weights[channel][i] * values[channel];
    for (const f32 value : sum) {
      const f32 level = std::isnan(value) ? 0.0f : std::clamp(value * 0.5f + 0.5f, 0.0f, 1.0f);
      result.rgb.push_back(static_cast<std::uint8_t>(std::nearbyint(level * 255.0f)));
    }
  }
  return result;
}

}  // namespace precast::families
