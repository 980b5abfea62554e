// Writes pictures, and reports the run that made them.
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include <cli/generate/generate_result.hpp>
#include <cli/options/output_files.hpp>
#include <cli/picture_settings/parameters_text.hpp>
#include <cli/terminal/notes.hpp>
#include <families/presets.hpp>
#include <families/registry.hpp>
#include <image/picture_file.hpp>
#include <process/memory.hpp>

#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

/// The policy of each role, keyed by the first component with that role.
Json policies_json(const families::Pipeline& pipeline) {
  Json policies = Json::object();
  std::set<families::Role> seen;
  for (const auto role : families::all_roles)
    for (const families::ComponentInfo& component : pipeline.family().components())
      if (component.role == role && seen.insert(role).second)
        policies[std::string(component.name)] = families::spelling(pipeline.choices().of(role));
  return policies;
}

Json pictures_json(const GenerateJob& job, const families::Result& result) {
  Json pictures = Json::array();
  for (std::size_t i = 0; i < job.files.size(); ++i)
    pictures.push_back({{"file", job.files[i].string()},
                        {"prompt", result.prompts[i]},
                        {"seed", families::picture_seed(result.used, static_cast<std::int64_t>(i))},
                        {"width", result.images[i].width},
                        {"height", result.images[i].height}});
  return pictures;
}

}  // namespace

Json settings_json(const StartOptions& start, const families::Pipeline& pipeline,
                   const families::ResolvedRequest& used) {
  Json settings{{"steps", used.steps},
                {"guidance", value_or_null(used.guidance)},
                {"max_sequence_length", value_or_null(used.max_sequence_length)},
                {"width", used.width},
                {"height", used.height},
                {"batch", used.batch},
                {"seed_step", value_or_null(used.seed_step)},
                {"t5_padding", value_or_null(used.padding)},
                {"negative", value_or_null(used.negative)},
                // For Stable Diffusion this is the guidance.
                {"cfg_scale", pipeline.family().guidance_is_distilled() ? Json(used.cfg_scale) : Json()},
                {"vae_tiling", used.vae_tiling},
                {"sampler", value_or_null(used.sampler)},
                {"eta", value_or_null(used.eta)},
                {"guidance_rescale", value_or_null(used.guidance_rescale)},
                {"clip_skip", value_or_null(used.clip_skip)},
                {"aesthetic_score", value_or_null(used.aesthetic_score)},
                {"negative_aesthetic_score", value_or_null(used.negative_aesthetic_score)},
                {"mask", text_or_null(start.mask)},
                {"refiner", value_or_null(start.refiner)},
                {"refiner_start", value_or_null(used.refiner_start)}};
  if (!start.image.empty()) {
    settings["image"] = start.image;
    settings["strength"] = used.strength;
    settings["fit"] = to_string(used.fit);
  }
  return settings;
}

void write_picture(const GenerateJob& job, const families::Result& so_far) {
  const GenerateOptions& options = job.options;
  const std::size_t i = so_far.images.size() - 1;
  const PictureFacts facts{so_far.prompts[i],
                           job.model,
                           policy_text(job.pipeline.choices()),
                           static_cast<std::int64_t>(i),
                           static_cast<std::int64_t>(job.files.size()),
                           !options.start.image.empty(),
                           !options.latents.empty(),
                           so_far.sampler,
                           job.pipeline.family().guidance_is_distilled(),
                           image::format_of_name(job.files[i]) == image::Format::png ? 0 : options.quality,
                           "",
                           job.given};
  const std::array texts{image::Text{"parameters", parameters_text(so_far.used, facts)}};
  write_output(
      job.files[i],
      image::encode_image(image::format_of_name(job.files[i]), so_far.images[i], texts, options.quality),
      options.old_files());
  if (!options.json && !is_standard_output(job.files[i]))
    notes() << "wrote " << io::shown(job.files[i]) << "\n";
}

Json generate_json(const GenerateJob& job, const PictureRun& run, const std::vector<std::string>& warnings) {
  const GenerateOptions& options = job.options;
  const families::Result& result = run.result;
  Json components = Json::object();
  for (const auto& [component, path] : options.run.component_files) components[component] = path;
  const std::string advice = run.advice();
  return {
      {"pictures", pictures_json(job, result)},
      {"model", job.model},
      {"components", components},
      {"device", job.device.name},
      {"seed", result.used.seed},
      {"settings", settings_json(options.start, job.pipeline, result.used)},
      {"precision", policy_text(job.pipeline.choices())},
      {"plan", text_or_null(options.plan)},
      {"policies", policies_json(job.pipeline)},
      {"seconds",
       {{"load", result.load_seconds},
        {"text", result.text_seconds},
        {"denoise", result.denoise_seconds},
        {"step", result.steps ? Json(result.denoise_seconds / static_cast<double>(result.steps)) : Json()},
        {"decode", result.decode_seconds},
        {"total", run.seconds}}},
      {"peak_bytes", result.peak_bytes},
      {"estimated_peak_bytes", result.estimate.peak()},
      {"peak_resident_bytes", process::peak_resident_memory()},
      {"non_finite",
       {{"latents", run.non_finite_latents},
        {"pixels", result.nan_values},
        {"ops", run.trace ? Json(run.trace->non_finite_values()) : Json()},
        {"advice", text_or_null(advice)}}},
      {"warnings", warnings},
      {"latents", text_or_null(options.save_latents)},
      {"trace", text_or_null(options.trace)}};
}

}  // namespace precast::cli
