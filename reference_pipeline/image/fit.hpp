// Fit: what happens to a picture whose shape is not the one that is needed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <image/image.hpp>

namespace precast::image {

enum class Fit : std::uint8_t {
  stretch,  ///< resized to the new sides, whatever that does to its shape
  crop,     ///< keeps its shape; what is too much is cut off, on both ends alike
  pad,      ///< keeps its shape and all of itself; what is missing is black, on both ends alike
};

inline constexpr std::array<std::string_view, 3> fit_names{"stretch", "crop", "pad"};

constexpr std::string_view to_string(Fit fit) { return fit_names[static_cast<std::size_t>(fit)]; }
std::optional<Fit> fit_named(std::string_view name);

/// The picture at another size, resized by `resize`. Throws InputError for sides outside of 1 to max_side,
/// ShapeError as check_pixels does.
Image fitted(const Image& image, int width, int height, Fit fit);

/// Bytes that `fitted` takes beside its input, for its result and for what it makes on the way.
std::int64_t fitting_memory(const Image& image, int width, int height, Fit fit);

}  // namespace precast::image
