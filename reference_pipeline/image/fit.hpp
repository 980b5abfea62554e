// Fit: how a picture is adapted to another aspect ratio.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <image/image.hpp>

namespace precast::image {

enum class Fit : std::uint8_t {
  stretch,  ///< resized to the new sides, without keeping the aspect ratio
  crop,     ///< keeps the aspect ratio; cuts off what exceeds, equally on both sides
  pad,      ///< keeps the aspect ratio and the whole picture; adds black, equally on both sides
};

inline constexpr std::array<std::string_view, 3> fit_names{"stretch", "crop", "pad"};

constexpr std::string_view to_string(Fit fit) { return fit_names[static_cast<std::size_t>(fit)]; }
std::optional<Fit> fit_named(std::string_view name);

/// The picture at another size, resized by `resize`. Throws InputError for sides outside [1, max_side], and
/// ShapeError as check_pixels does.
Image fitted(const Image& image, int width, int height, Fit fit);

/// Bytes that `fitted` allocates for its result and intermediate pictures, without its input.
std::int64_t fitting_memory(const Image& image, int width, int height, Fit fit);

}  // namespace precast::image
