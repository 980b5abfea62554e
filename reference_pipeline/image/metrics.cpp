#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <image/metrics.hpp>

namespace precast::image {

namespace {

void check_pair(const Image& a, const Image& b) {
  check_pixels(a, "difference");
  check_pixels(b, "difference");
  if (a.width != b.width || a.height != b.height)
    throw ShapeError("pictures of " + std::to_string(a.width) + "x" + std::to_string(a.height) + " and " +
                     std::to_string(b.width) + "x" + std::to_string(b.height) + " cannot be compared");
}

}  // namespace

Difference difference(const Image& a, const Image& b) {
  check_pair(a, b);
  std::uint64_t squares = 0;
  for (std::size_t i = 0; i < a.rgb.size(); ++i) {
    const int distance = int{a.rgb[i]} - int{b.rgb[i]};
    squares += static_cast<std::uint64_t>(distance * distance);
  }
  if (squares == 0) return {0, std::numeric_limits<double>::infinity()};
  const double mse = static_cast<double>(squares) / static_cast<double>(a.rgb.size());
  return {mse, 10 * std::log10(255.0 * 255.0 / mse)};
}

DifferencePicture difference_picture(const Image& a, const Image& b) {
  check_pair(a, b);
  DifferencePicture result{{a.width, a.height, {}}, 0, 1};
  result.picture.rgb.reserve(a.rgb.size());
  for (std::size_t i = 0; i < a.rgb.size(); ++i) {
    const int distance = std::abs(int{a.rgb[i]} - int{b.rgb[i]});
    result.largest = std::max(result.largest, distance);
    result.picture.rgb.push_back(static_cast<std::uint8_t>(distance));
  }
  if (result.largest > 0) result.factor = 255 / result.largest;
  for (std::uint8_t& value : result.picture.rgb) value = static_cast<std::uint8_t>(value * result.factor);
  return result;
}

}  // namespace precast::image
