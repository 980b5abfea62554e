#include <array>

#include <cli/options/arguments.hpp>
#include <cli/options/given_files.hpp>
#include <cli/options/model_path.hpp>
#include <cli/options/picture_options.hpp>
#include <cli/options/real_option.hpp>
#include <cli/options/start_options.hpp>
#include <image/picture_file.hpp>

namespace precast::cli {

void StartOptions::apply(families::Request& request) const {
  request.batch = batch.value_or(1);
  if (strength) request.strength = *strength;
  request.fit = fit;
  request.seed_step = seed_step;
}

void StartOptions::read(families::Request& request, std::span<const std::filesystem::path> outputs) const {
  check_inputs_stay(outputs, std::array<std::filesystem::path, 2>{image, mask});
  if (!image.empty()) request.image = image::read_image(image).image;
  if (!mask.empty()) request.mask = image::read_image(mask).image;
  if (refiner) {
    request.refiner = model_path(refiner);
    check_inputs_stay(outputs, families::ModelFiles(*request.refiner));
  }
  request.refiner_start = refiner_start;
}

std::size_t StartOptions::pictures(const families::Request& request) const {
  const std::size_t pictures = request.prompts.size() * static_cast<std::size_t>(request.batch);
  if (pictures > families::most_pictures)
    throw UsageError("--prompt and --batch ask for " + std::to_string(pictures) +
                     " pictures: " + std::to_string(families::most_pictures) + " are the most in one run");
  return pictures;
}

void add_count_options(CLI::App& command, RunOptions& run, StartOptions& options) {
  add_integer(command, "--batch", options.batch, 1, families::most_pictures,
              "Pictures for each prompt; default 1");
  command.add_option("--prompts-file", run.prompts_file, "Prompts, one a line; - for stdin")
      ->type_name("FILE");
  command
      .add_option_function<std::string>(
          "--seed-step",
          [&](const std::string& text) { options.seed_step = parse_seed("--seed-step", text); },
          "Picture k of several, from 0, is the one that --seed SEED+k*N makes alone; default: one stream "
          "of noise for all, as diffusers draws it")
      ->type_name("N");
}

CLI::Option* add_image_options(CLI::App& command, StartOptions& options) {
  CLI::Option* image =
      command.add_option("--image", options.image, "PNG, JPEG or WebP to start from (image to image)");
  image->type_name("FILE");
  command
      .add_option_function<std::string>(
          "--strength",
          [&](const std::string& text) {
            options.strength = parse_real("--strength", text, families::part_range);
          },
          "How much of --image to replace: 0 keeps it, as the model's VAE has it; 1\n"
          "ignores it; default 0.6")
      ->type_name("S")
      ->needs(image);
  add_fit_option(command, options.fit)->needs(image);
  command
      .add_option("--mask", options.mask,
                  "Inpainting: a picture that is white where --image is repainted, black where it stays; "
                  "for\nmodels that were trained for it, and all others too")
      ->type_name("FILE")
      ->needs(image)
      ->group("Stable Diffusion");
  return image;
}

void add_refiner_options(CLI::App& command, StartOptions& options) {
  CLI::Option* refiner =
      command
          .add_option("--refiner", options.refiner,
                      "A folder with a refiner of XL, or its name as in --model, which takes the last steps\n"
                      "(from --image and with --mask too)")
          ->type_name("PATH")
          ->group("Stable Diffusion");
  add_real(command, "--refiner-start", options.refiner_start, 0, 1,
           "Where in the noise the refiner takes over, between 0 and 1; default 0.8")
      ->needs(refiner)
      ->group("Stable Diffusion");
}

}  // namespace precast::cli
