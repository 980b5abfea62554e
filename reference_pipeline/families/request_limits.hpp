// Checks of a request that every family makes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <families/request.hpp>
#include <families/request_error.hpp>
#include <families/setting_ranges.hpp>

#include <precast/tensor/shape.hpp>

namespace precast::families {

/// "WHAT is VALUE: it must be RANGE".
RequestError out_of_range(std::string_view what, const std::string& value, const std::string& range);

/// Throws RequestError where a value lies outside of a range, or is NaN.
void require_in(const Range& range, std::string_view what, double value);

/// Throws RequestError where there is no prompt, or steps, batch, strength or previews are out of their
/// ranges.
void check_counts(const ResolvedRequest& full, const std::optional<PreviewRequest>& preview);

/// Throws Error where the picture to start from is no picture of its size, or latents are given beside it.
void check_start(const Request& given);

/// Throws ShapeError where latents that are given are not of the shape that the request needs.
void check_latents(const Request& given, const Shape& wanted);

/// Throws RequestError where width or height is not a multiple of `multiple`, "two latents of 8 pixels" in
/// `words`.
void check_sides(const ResolvedRequest& full, int multiple, const std::string& words);

}  // namespace precast::families
