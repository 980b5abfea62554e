#include <algorithm>

#include <cli/arguments.hpp>
#include <cli/picture_options.hpp>
#include <image/picture_file.hpp>

namespace precast::cli {

CLI::Option* add_quality_option(CLI::App& command, int& quality) {
  return command
      .add_option_function<std::string>(
          "--quality",
          [&quality](const std::string& text) {
            quality = static_cast<int>(parse_integer("--quality", text, 1, 100));
          },
          "Of JPEG and WebP, 1 to 100; WebP's 100 keeps every pixel; default " +
              std::to_string(image::usual_quality))
      ->type_name("N");
}

void check_picture_name(const std::string& output, std::span<const std::string> prompts) {
  constexpr std::size_t longest_for_jpeg = 30000;  // characters take two bytes or four there; settings follow
  image::Format format{};
  try {
    format = image::format_of_name(output);
  } catch (const InputError& wrong) {
    throw UsageError(std::string("--output: ") + wrong.what());
  }
  if (format != image::Format::jpeg) return;
  if (std::ranges::any_of(prompts,
                          [](const std::string& prompt) { return prompt.size() > longest_for_jpeg; }))
    throw UsageError("--prompt is longer than a JPEG picture's text can be, " +
                     std::to_string(longest_for_jpeg) + " characters: write --output as .png or .webp");
}

}  // namespace precast::cli
