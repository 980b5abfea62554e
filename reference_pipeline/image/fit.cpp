// Crops and pads around `resize`.
#include <algorithm>

#include <image/fit.hpp>
#include <image/resize.hpp>

namespace precast::image {
namespace {

struct Size {
  int width, height;
};

/// A side times a ratio, rounded to the nearest integer, in [1, `most`].
int scaled(int side, int numerator, int denominator, int most) {
  const std::int64_t product = std::int64_t{side} * numerator;
  return static_cast<int>(
      std::clamp<std::int64_t>((2 * product + denominator) / (2 * std::int64_t{denominator}), 1, most));
}

/// The largest part of a picture of size `of` with the aspect ratio of `like`.
Size largest_part(Size of, Size like) {
  const bool too_wide = std::int64_t{of.width} * like.height > std::int64_t{like.width} * of.height;
  return too_wide ? Size{scaled(of.height, like.width, like.height, of.width), of.height}
                  : Size{of.width, scaled(of.width, like.height, like.width, of.height)};
}

Image blank(Size size) {
  return {size.width, size.height,
          std::vector<std::uint8_t>(channels * static_cast<std::size_t>(size.width) *
                                    static_cast<std::size_t>(size.height))};
}

/// Copies the centre of one picture to the centre of another, as much as fits into both.
void copy_middle(const Image& from, Image& to) {
  const int width = std::min(from.width, to.width), height = std::min(from.height, to.height);
  const auto middle = [&](const Image& image, int row) {
    const auto column = static_cast<std::size_t>((image.width - width) / 2);
    return channels * (static_cast<std::size_t>((image.height - height) / 2 + row) *
                           static_cast<std::size_t>(image.width) +
                       column);
  };
  for (int row = 0; row < height; ++row)
    std::copy_n(from.rgb.data() + middle(from, row), channels * static_cast<std::size_t>(width),
                to.rgb.data() + middle(to, row));
}

bool same_size(const Image& image, Size size) {
  return image.width == size.width && image.height == size.height;
}

std::int64_t bytes_of(Size size) { return std::int64_t{3} * size.width * size.height; }

}  // namespace

std::optional<Fit> fit_named(std::string_view name) {
  const auto found = std::ranges::find(fit_names, name);
  if (found == fit_names.end()) return std::nullopt;
  return static_cast<Fit>(found - fit_names.begin());
}

Image fitted(const Image& image, int width, int height, Fit fit) {
  const Size wanted{width, height};
  if (fit == Fit::stretch || same_size(image, wanted) || !allowed_size(width, height))
    return resize(image, width, height);
  check_pixels(image, "fitted");
  const Size given{image.width, image.height};
  if (fit == Fit::crop) {
    const Size part = largest_part(given, wanted);
    if (same_size(image, part)) return resize(image, width, height);
    Image middle = blank(part);
    copy_middle(image, middle);
    return resize(middle, width, height);
  }
  const Size inner = largest_part(wanted, given);
  Image whole = resize(image, inner.width, inner.height);
  if (same_size(whole, wanted)) return whole;
  Image framed = blank(wanted);
  copy_middle(whole, framed);
  return framed;
}

std::int64_t fitting_memory(const Image& image, int width, int height, Fit fit) {
  const Size given{image.width, image.height}, wanted{width, height};
  if (fit == Fit::crop) {
    const Size part = largest_part(given, wanted);
    if (same_size(image, part)) return resize_memory(image, width, height);
    return bytes_of(part) + resize_memory({part.width, part.height, {}}, width, height);
  }
  if (fit == Fit::stretch || same_size(image, wanted)) return resize_memory(image, width, height);
  const Size inner = largest_part(wanted, given);
  return std::max(resize_memory(image, inner.width, inner.height), bytes_of(inner) + bytes_of(wanted));
}

}  // namespace precast::image
