// Writes prompt and settings in the format that other programs read.
#include <algorithm>

#include <cli/picture_settings/parameters_text.hpp>
#include <cli/picture_settings/picture_settings.hpp>
#include <cli/terminal/output.hpp>

namespace precast::cli {

namespace {

constexpr const char* version_key = "Version";  // the last key

/// Whether a reader could mistake a line of this text for the negative prompt.
bool looks_like_two(const std::string& text) {
  return text.find("\n" + std::string(negative_label)) != std::string::npos;
}

}  // namespace

std::string parameters_text(const families::ResolvedRequest& used, const PictureFacts& facts) {
  std::string line;
  const auto add = [&](const char* key, const std::string& value) {
    line += (line.empty() ? "" : ", ") + std::string(key) + ": " + quoted_value(value);
  };
  add("Steps", std::to_string(used.steps));
  if (!facts.sampler.empty()) add("Sampler", facts.sampler);
  // For distilled guidance, other programs call their own scale "CFG scale", and the guidance distilled.
  if (facts.guidance_is_distilled) add("CFG scale", shortest(used.cfg_scale));
  if (used.guidance)
    add(facts.guidance_is_distilled ? "Distilled CFG Scale" : "CFG scale", shortest(*used.guidance));
  add("Seed", std::to_string(families::picture_seed(used, facts.position)));
  add("Size", std::to_string(used.width) + "x" + std::to_string(used.height));
  add("Model", facts.model);
  for (const auto& [label, file] : facts.given) add(label.c_str(), file);
  if (facts.from_image) {
    add("Denoising strength", shortest(used.strength));
    if (used.fit != image::Fit::stretch) add("Fit", std::string(to_string(used.fit)));
  }
  if (facts.from_latents) add("Initial noise", "latents file");
  if (facts.pictures > 1 && !used.seed_step) {  // the noise of later pictures continues the seed's stream
    add("Batch size", std::to_string(facts.pictures));
    add("Batch pos", std::to_string(facts.position));
  }
  if (used.vae_tiling) add("VAE tiling", "yes");
  if (used.eta) add("Eta", shortest(*used.eta));
  if (used.guidance_rescale) add("CFG Rescale", shortest(*used.guidance_rescale));
  if (used.clip_skip) add("Clip skip", std::to_string(*used.clip_skip));
  if (used.aesthetic_score) add("Aesthetic score", shortest(*used.aesthetic_score));
  if (used.negative_aesthetic_score)
    add("Negative aesthetic score", shortest(*used.negative_aesthetic_score));
  if (used.refiner_start) add("Refiner switch at", shortest(*used.refiner_start));
  if (used.max_sequence_length) add("T5 length", std::to_string(*used.max_sequence_length));
  if (used.padding) add("T5 padding", std::to_string(*used.padding));
  if (facts.policies.empty())
    add("Precision", facts.precision);
  else
    add("Policies", facts.policies);
  if (facts.quality) add("Quality", std::to_string(facts.quality));
  if (looks_like_two(facts.prompt) || (used.negative && looks_like_two(*used.negative)))
    add("Prompt lines", std::to_string(1 + std::ranges::count(facts.prompt, '\n')));
  add(version_key, "precast " PRECAST_VERSION);
  return facts.prompt + "\n" +
         (used.negative ? std::string(negative_label) + " " + *used.negative + "\n" : "") + line;
}

std::string with_quality(std::string parameters, int quality) {
  const std::size_t last = parameters.rfind(std::string(", ") + version_key + ": ");
  return parameters.insert(std::min(last, parameters.size()), ", Quality: " + std::to_string(quality));
}

}  // namespace precast::cli
