#include <cmath>
#include <limits>

#include <image/metrics.hpp>

namespace precast::image {

Difference difference(const Image& a, const Image& b) {
  check_pixels(a, "difference");
  check_pixels(b, "difference");
  if (a.width != b.width || a.height != b.height)
    throw ShapeError("pictures of " + std::to_string(a.width) + "x" + std::to_string(a.height) + " and " +
                     std::to_string(b.width) + "x" + std::to_string(b.height) + " cannot be compared");
  std::uint64_t squares = 0;
  for (std::size_t i = 0; i < a.rgb.size(); ++i) {
    const int distance = int{a.rgb[i]} - int{b.rgb[i]};
    squares += static_cast<std::uint64_t>(distance * distance);
  }
  if (squares == 0) return {0, std::numeric_limits<double>::infinity()};
  const double mse = static_cast<double>(squares) / static_cast<double>(a.rgb.size());
  return {mse, 10 * std::log10(255.0 * 255.0 / mse)};
}

}  // namespace precast::image
