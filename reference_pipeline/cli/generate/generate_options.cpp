#include <cli/generate/generate_options.hpp>
#include <cli/options/given_files.hpp>
#include <cli/options/picture_options.hpp>

namespace precast::cli {

void add_generate_options(CLI::App& command, GenerateOptions& options) {
  add_run_options(command, options.run);
  add_count_options(command, options.run, options.start);
  CLI::Option* image = add_image_options(command, options.start);
  add_refiner_options(command, options.start);
  add_policy_options(command, options.policy);
  add_component_options(command, options.policy);
  command
      .add_option("--plan", options.plan,
                  "A plan (precast plan): the matrices of each of its layers are encoded to the layer's "
                  "format as they\nare loaded, as convert --plan writes them")
      ->type_name("FILE");
  const std::string group = "Files";
  command
      .add_option("--output,-o", options.output,
                  "Picture to write: .png, .jpg or .webp; out-1.png, out-2.png … where there are several, "
                  "out-01.png … from ten on; "
                  "- for standard output, as PNG")
      ->type_name("FILE")
      ->capture_default_str()
      ->group(group);
  options.quality_option = add_quality_option(command, options.quality)->group(group);
  command
      .add_option("--latents", options.latents,
                  "The noise to start from: safetensors with one tensor 'latents', packed\n"
                  "[pictures, tokens, channels]; of Stable Diffusion [pictures, channels, height, width]")
      ->type_name("FILE")
      ->group(group)
      ->excludes(image);
  command
      .add_option("--save-latents", options.save_latents,
                  "Writes the final latents, laid out in the same way")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--trace", options.trace,
                  "JSON of every op: path, dtypes, shape, largest value, inf and NaN; and on\n"
                  "stderr the first value that is not finite, with the option that cures it")
      ->type_name("FILE")
      ->group(group);
  command
      .add_flag("--no-overwrite", options.no_overwrite,
                "Refuses to replace a file; checks before any work, and again when it writes")
      ->group(group);
  add_preview_options(command, options.preview);
  command.add_flag("--json", options.json, "What was made, as JSON on stdout");
  command.footer(
      "Examples:\n"
      "  precast generate --prompt \"a large red circle on a blue background, at the left\"\n"
      "  precast generate --prompt \"a small red star on a white background, at the left\" \"a large blue "
      "ring on a black background, at the top\" --batch 2 --seed 7 --seed-step 1 --output shapes.png\n"
      "  precast generate -m black-forest-labs/FLUX.1-schnell -p \"a lighthouse\" -s random -o "
      "lighthouse.png\n"
      "  precast generate --model ~/FLUX.1-dev --prompt \"a lighthouse\" --preset memory --steps 20 --width "
      "768 --height 512\n"
      "  precast generate --prompt \"a large green square on a black background, at the top\" --image "
      "out.png --strength 0.8 --output again.png\n"
      "  precast generate --model shapes-sd --prompt \"a small white ring on a purple background, at the "
      "top\"\n"
      "  precast generate --model ~/sd-1.5 --prompt \"a cat\" --negative \"blurry\" --guidance 7 --sampler "
      "dpmpp_2m_karras --steps 20\n"
      "  precast generate --model ~/sd-1.5 --prompt \"a hat\" --image cat.png --mask head.png --strength "
      "0.9\n"
      "  precast generate --model ~/sdxl --refiner ~/sdxl-refiner --refiner-start 0.8 --prompt \"a cat\"\n"
      "  precast generate --prompt \"a large white cross on a blue background, at the right\" --precision "
      "f16 --trace trace.json   # where does f16 overflow?\n"
      "\n"
      "--precision sets the precision of all components and keeps the preset's other options; without "
      "--preset it is\n"
      "a plain policy. --upcast-*, --flash and --no-flash change the preset; the options of a component "
      "come last.");
}

}  // namespace precast::cli
