// The settings of the golden files, as requests to FluxPipeline.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <flux/pipeline.hpp>
#include <image/image.hpp>
#include <support/golden.hpp>

#include <precast/policy/choice.hpp>
#include <precast/policy/visit.hpp>

namespace precast::testing {

inline constexpr PolicyChoice quality{.precision = precision_of<f32>};
inline constexpr PolicyChoice balanced{.precision = precision_of<f32>, .options = {.flash = true}};

/// Every choice that this build holds, in the order of CompiledPaths.
inline std::vector<PolicyChoice> compiled_choices() {
  std::vector<PolicyChoice> choices;
  for_each_path([&](auto path) { choices.push_back(decltype(path)::choice); });
  return choices;
}

/// The f32 choices that this build holds: quality and balanced.
inline std::vector<PolicyChoice> f32_choices() {
  std::vector<PolicyChoice> choices;
  for (const PolicyChoice& choice : compiled_choices())
    if (choice.precision == precision_of<f32>) choices.push_back(choice);
  return choices;
}

inline flux::FluxPipeline open_golden(std::string_view folder, const PolicyChoice& choice) {
  return flux::FluxPipeline(golden_model(folder), flux::ComponentChoices::all(choice));
}

/// The text-to-image run of a golden file.
inline flux::Request request_of(const Golden& golden) {
  flux::Request request;
  request.prompts = {golden.text("prompt")};
  request.seed = golden.fact("seed");
  request.steps = golden.fact("steps").get<int>();
  request.guidance = golden.fact("guidance").get<double>();
  request.width = golden.fact("width").get<int>();
  request.height = golden.fact("height").get<int>();
  request.max_sequence_length = golden.fact("max_sequence_length").get<int>();
  return request;
}

inline image::Image picture_of(const Golden& golden, std::string_view name) {
  const Shape& shape = golden.shape(name);
  return {static_cast<int>(shape[1]), static_cast<int>(shape[0]), golden.bytes(name)};
}

/// Its image-to-image run number `index`.
inline flux::Request image_request_of(const Golden& golden, std::size_t index) {
  const nlohmann::json how = golden.fact("img2img").at(index);
  flux::Request request = request_of(golden);
  request.steps = how["steps"].get<int>();
  request.strength = how["strength"];
  request.image = picture_of(golden, "encode.image_u8");
  return request;
}

/// The largest difference of two pictures of one size, in levels; 256 where the sizes differ.
inline int largest_difference(const image::Image& a, const image::Image& b) {
  if (a.width != b.width || a.height != b.height || a.rgb.size() != b.rgb.size()) return 256;
  int largest = 0;
  for (std::size_t i = 0; i < a.rgb.size(); ++i) largest = std::max(largest, std::abs(a.rgb[i] - b.rgb[i]));
  return largest;
}

}  // namespace precast::testing
