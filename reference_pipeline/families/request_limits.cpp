#include <algorithm>
#include <utility>

#include <families/request_limits.hpp>
#include <families/stages.hpp>

#include <precast/io/number_text.hpp>

namespace precast::families {

namespace {

/// The nearest sides that a picture can have: "416 or 432".
std::string nearest_sides(int side, int multiple) {
  const int below = std::clamp(side / multiple * multiple, multiple, largest_side / multiple * multiple);
  const int above = below + multiple;
  const bool one = side < below || above > largest_side || side % multiple == 0;
  return std::to_string(below) + (one ? "" : " or " + std::to_string(above));
}

}  // namespace

RequestError out_of_range(std::string_view what, const std::string& value, const std::string& range) {
  return RequestError(std::string(what) + " is " + value + ": it must be " + range);
}

void require_in(const Range& range, std::string_view what, double value) {
  if (!(value >= range.least && value <= range.most))
    throw out_of_range(what, io::shortest(value),
                       "from " + io::shortest(range.least) + " to " + io::shortest(range.most));
}

void check_counts(const ResolvedRequest& full, const std::optional<PreviewRequest>& preview) {
  if (full.prompts.empty()) throw RequestError("there is no prompt: give at least one");
  if (full.steps < 1 || full.steps > most_steps)
    throw out_of_range("steps", std::to_string(full.steps), "from 1 to " + std::to_string(most_steps));
  if (full.batch < 1 || pictures(full) > most_pictures)
    throw out_of_range("batch", std::to_string(full.batch),
                       "at least 1, for at most " + std::to_string(most_pictures) + " pictures in all");
  require_in(part_range, "strength", full.strength);
  if (preview && preview->every < 1)
    throw out_of_range("steps between previews", std::to_string(preview->every), "at least 1");
}

void check_start(const Request& given) {
  if (given.image) image::check_pixels(*given.image, "the image to start from");
  if (given.image && given.latents)
    throw RequestError("an image and latents are both given to start from: give one of them");
}

void check_latents(const Request& given, const Shape& wanted) {
  if (given.latents && !(given.latents->shape() == wanted))
    throw ShapeError("latents have shape " + to_string(given.latents->shape()) + ", and this request needs " +
                     to_string(wanted) +
                     ": give latents of its size, or change --width, --height or --batch");
}

void check_sides(const ResolvedRequest& full, int multiple, const std::string& words) {
  for (const auto& [what, side] : {std::pair("width", full.width), std::pair("height", full.height)})
    if (side < 1 || side > largest_side || side % multiple != 0)
      throw out_of_range(what, std::to_string(side),
                         "a multiple of " + std::to_string(multiple) + " (" + words + ") up to " +
                             std::to_string(largest_side) + ": try " + nearest_sides(side, multiple));
}

}  // namespace precast::families
