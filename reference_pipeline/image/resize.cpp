#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include <image/resize.hpp>

#include <precast/error.hpp>

namespace precast::image {
namespace {

constexpr double lobes = 3;
constexpr int fraction_bits = 22;  // of a weight: 32 bits minus 8 of the pixel and 2 of headroom

double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos(double x) { return x >= -lobes && x < lobes ? sinc(x) * sinc(x / lobes) : 0; }

/// The input positions that an output position sums, and their weights.
struct Taps {
  int first = 0;
  std::vector<std::int32_t> weights;
};

std::vector<Taps> make_taps(int in_size, int out_size) {
  const double scale = static_cast<double>(in_size) / out_size;
  const double stretch = std::max(scale, 1.0);
  const double reach = lobes * stretch;
  const double inverse = 1.0 / stretch;
  std::vector<Taps> result(static_cast<std::size_t>(out_size));
  std::vector<double> weights;
  for (int i = 0; i < out_size; ++i) {
    const double center = (i + 0.5) * scale;
    const int first = std::max(static_cast<int>(center - reach + 0.5), 0);
    const int last = std::min(static_cast<int>(center + reach + 0.5), in_size);
    weights.clear();
    double sum = 0;
    for (int j = first; j < last; ++j) {
      weights.push_back(lanczos((j - center + 0.5) * inverse));
      sum += weights.back();
    }
    Taps& taps = result[static_cast<std::size_t>(i)];
    taps.first = first;
    for (const double weight : weights) {
      const double scaled = (sum != 0 ? weight / sum : weight) * (1 << fraction_bits);
      taps.weights.push_back(static_cast<std::int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5));
    }
  }
  return result;
}

std::uint8_t to_byte(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> fraction_bits, 0, 255));
}

constexpr std::int32_t half = 1 << (fraction_bits - 1);

Image resize_rows(const Image& image, int width) {
  const std::vector<Taps> taps = make_taps(image.width, width);
  const auto in_row = channels * static_cast<std::size_t>(image.width);
  Image result{width, image.height, {}};
  result.rgb.resize(channels * static_cast<std::size_t>(width) * static_cast<std::size_t>(image.height));
  std::uint8_t* out = result.rgb.data();
  for (int y = 0; y < image.height; ++y) {
    const std::uint8_t* row = image.rgb.data() + static_cast<std::size_t>(y) * in_row;
    for (const Taps& tap : taps) {
      std::int32_t sums[channels] = {half, half, half};
      const std::uint8_t* in = row + channels * static_cast<std::size_t>(tap.first);
      for (const std::int32_t weight : tap.weights)
        for (std::int32_t& sum : sums) sum += weight * *in++;
      for (const std::int32_t sum : sums) *out++ = to_byte(sum);
    }
  }
  return result;
}

Image resize_columns(const Image& image, int height) {
  const std::vector<Taps> taps = make_taps(image.height, height);
  const auto row_size = channels * static_cast<std::size_t>(image.width);
  Image result{image.width, height, {}};
  result.rgb.resize(row_size * static_cast<std::size_t>(height));
  std::vector<std::int32_t> sums(row_size);
  std::uint8_t* out = result.rgb.data();
  for (const Taps& tap : taps) {
    std::ranges::fill(sums, half);
    const std::uint8_t* in = image.rgb.data() + static_cast<std::size_t>(tap.first) * row_size;
    for (const std::int32_t weight : tap.weights)
      for (std::int32_t& sum : sums) sum += weight * *in++;
    for (const std::int32_t sum : sums) *out++ = to_byte(sum);
  }
  return result;
}

/// Whether columns are resized first, as Pillow 13 decides. The order affects the last bit, since the
/// intermediate picture is 8-bit.
bool columns_first(const Image& image, int width, int height) {
  return height < image.height && image.height - height > 2 * (image.width - width);
}

}  // namespace

Image resize(const Image& image, int width, int height) {
  if (!allowed_size(width, height))
    throw InputError("cannot resize a picture to " + std::to_string(width) + "x" + std::to_string(height) +
                     ": sides from 1 to " + std::to_string(max_side) + " are supported");
  check_pixels(image, "resize");
  if (width == image.width) return height == image.height ? image : resize_columns(image, height);
  if (height == image.height) return resize_rows(image, width);
  if (columns_first(image, width, height)) return resize_rows(resize_columns(image, height), width);
  return resize_columns(resize_rows(image, width), height);
}

std::int64_t resize_memory(const Image& image, int width, int height) {
  const std::int64_t result = std::int64_t{3} * width * height;
  if (width == image.width || height == image.height) return result;
  return result + (columns_first(image, width, height) ? std::int64_t{3} * image.width * height
                                                       : std::int64_t{3} * width * image.height);
}

}  // namespace precast::image
