#include <algorithm>

#include <cli/arguments.hpp>
#include <cli/notes.hpp>
#include <cli/picture_options.hpp>
#include <image/picture_file.hpp>

#include <precast/io/message.hpp>

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

CLI::Option* add_fit_option(CLI::App& command, image::Fit& fit) {
  return command
      .add_option_function<std::string>(
          "--fit",
          [&fit](const std::string& text) {
            fit = *image::fit_named(parse_name("--fit", text, image::fit_names));
          },
          "An --image of another shape is stretched (default), cropped, or padded with black")
      ->type_name("stretch|crop|pad");
}

void tell_fit(const std::string& file, const image::Image& given, int width, int height, image::Fit fit) {
  if (given.width == width && given.height == height) return;
  const auto size = [](int w, int h) { return std::to_string(w) + "x" + std::to_string(h); };
  const bool same_shape = std::int64_t{given.width} * height == std::int64_t{given.height} * width;
  const std::string how = same_shape                ? "resized"
                          : fit == image::Fit::crop ? "cropped and resized"
                          : fit == image::Fit::pad  ? "resized and padded with black"
                                                    : "stretched (--fit crop or pad keeps its shape)";
  notes() << io::shown(file) << " is " << size(given.width, given.height) << ", the picture "
          << size(width, height) << ": " << how << "\n";
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
