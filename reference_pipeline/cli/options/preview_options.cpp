#include <cli/options/arguments.hpp>
#include <cli/options/output_files.hpp>
#include <cli/options/preview_options.hpp>
#include <cli/options/run_options.hpp>
#include <image/picture_file.hpp>

namespace precast::cli {

std::optional<std::filesystem::path> PreviewOptions::file(const std::filesystem::path& pictures) const {
  if (!every) return std::nullopt;
  if (!output.empty()) return output;
  if (is_standard_output(pictures)) return "preview.png";
  std::filesystem::path name = pictures.stem();
  name += "-preview";
  name += pictures.extension();
  return pictures.parent_path() / name;
}

std::optional<families::PreviewRequest> PreviewOptions::request(const std::filesystem::path& pictures,
                                                                int quality, io::OldFile old) const {
  const auto target = file(pictures);
  if (!target) return std::nullopt;
  try {
    image::format_of_name(*target);
  } catch (const InputError& wrong) {
    throw UsageError(std::string("--preview-output: ") + wrong.what());
  }
  const auto write = [target = *target, quality, old](const families::Preview& preview) mutable {
    write_output(target, image::encode_image(image::format_of_name(target), preview.picture, {}, quality),
                 old);
    old = io::OldFile::replaced;  // later previews overwrite the first
  };
  return families::PreviewRequest{*every, vae, write};
}

void add_preview_options(CLI::App& command, PreviewOptions& options) {
  const std::string group = "Preview";
  CLI::Option* every = add_integer(command, "--preview", options.every, 1, families::most_steps,
                                   "Writes the unfinished picture every N steps, estimated from its latents");
  every->group(group);
  command.add_flag("--preview-vae", options.vae, "Previews by the VAE: sharp, and it is loaded all the time")
      ->group(group)
      ->needs(every);
  command
      .add_option("--preview-output", options.output,
                  "File of the preview, replaced each time; default: out-preview.png for out.png")
      ->type_name("FILE")
      ->group(group)
      ->needs(every);
}

}  // namespace precast::cli
