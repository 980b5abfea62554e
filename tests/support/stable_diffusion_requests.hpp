// The golden cases of the tiny Stable Diffusion models as requests to StableDiffusionPipeline.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <image/image.hpp>
#include <stable_diffusion/pipeline.hpp>
#include <support/golden.hpp>
#include <support/stable_diffusion.hpp>

#include <precast/policy/choice.hpp>
#include <precast/policy/visit.hpp>

namespace precast::testing {

/// Every choice that this build holds of a dtype.
template <class T>
std::vector<PolicyChoice> choices_in() {
  std::vector<PolicyChoice> choices;
  for_each_path([&](auto path) {
    if (decltype(path)::choice.precision == precision_of<T>) choices.push_back(decltype(path)::choice);
  });
  return choices;
}

inline stable_diffusion::StableDiffusionPipeline open_stable_diffusion(const std::string& folder,
                                                                       const PolicyChoice& choice) {
  return {stable_diffusion_model(folder), families::ComponentChoices::all(choice)};
}

/// A picture of the golden file; for a mask, its one channel in all three.
inline image::Image golden_picture(const Golden& golden, const std::string& name) {
  const Shape& shape = golden.shape(name);
  const std::vector<std::uint8_t> bytes = golden.bytes(name);
  image::Image picture{static_cast<int>(shape[1]), static_cast<int>(shape[0]), {}};
  const std::size_t copies = shape.rank() == 2 ? image::channels : 1;
  for (const std::uint8_t byte : bytes) picture.rgb.insert(picture.rgb.end(), copies, byte);
  return picture;
}

inline families::Request request_of(const Golden& golden, const nlohmann::json& how) {
  families::Request request;
  const auto real = [&](const char* key) -> std::optional<double> {
    return how.contains(key) ? std::optional(how[key].get<double>()) : std::nullopt;
  };
  request.prompts = {how["prompt"].get<std::string>()};
  if (!how["negative"].is_null()) request.negative = how["negative"].get<std::string>();
  if (!how["sampler"].is_null()) request.sampler = how["sampler"].get<std::string>();
  request.seed = how["seed"];
  request.steps = how["steps"].get<int>();
  request.guidance = how["guidance"].get<double>();
  request.width = how["width"].get<int>();
  request.height = how["height"].get<int>();
  request.batch = how.value("images", 1);
  request.eta = real("eta");
  request.guidance_rescale = real("guidance_rescale");
  request.aesthetic_score = real("aesthetic_score");
  request.negative_aesthetic_score = real("negative_aesthetic_score");
  if (how.contains("clip_skip")) request.clip_skip = how["clip_skip"].get<int>();
  const std::string size = std::to_string(*request.width) + "x" + std::to_string(*request.height);
  if (how["task"] != "txt2img") {
    request.image = golden_picture(golden, "picture." + size);
    request.strength = how["strength"];
  }
  if (how["task"] == "inpaint") request.mask = golden_picture(golden, "mask." + size);
  if ((request.refiner_start = real("refiner_start"))) request.refiner = stable_diffusion_model("refiner");
  return request;
}

}  // namespace precast::testing
