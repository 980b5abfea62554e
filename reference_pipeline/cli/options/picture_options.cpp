#include <algorithm>

#include <cli/options/arguments.hpp>
#include <cli/options/picture_options.hpp>
#include <cli/terminal/notes.hpp>
#include <image/picture_file.hpp>
#include <image/unicode.hpp>
#include <image/webp.hpp>

#include <precast/io/message.hpp>

namespace precast::cli {

CLI::Option* add_quality_option(CLI::App& command, int& quality) {
  return command
      .add_option_function<std::string>(
          "--quality",
          [&quality](const std::string& text) {
            quality = static_cast<int>(parse_integer("--quality", text, 1, 100));
          },
          "Quality of JPEG and WebP, 1 to 100; WebP's 100 keeps every pixel; default " +
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

void note_fit(const std::string& file, const image::Image& given, int width, int height, image::Fit fit) {
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

void check_picture_name(const std::string& output, std::span<const std::string> texts) {
  constexpr std::size_t longest_for_jpeg = 30000;  // units of two bytes, of at most 32767; settings follow
  const std::string last = std::filesystem::path(output).filename().string();
  if (last.empty() || last == "." || last == "..")
    throw UsageError("--output '" + io::printable(output, 1000) +
                     "' is a folder: name a file in it, such as " +
                     io::printable((std::filesystem::path(output) / "out.png").string(), 1000));
  image::Format format{};
  try {
    format = image::format_of_name(output);
  } catch (const InputError& wrong) {
    throw UsageError(std::string("--output: ") + wrong.what());
  }
  if (format != image::Format::jpeg) return;
  const auto too_long = [](const std::string& text) {
    return image::utf16_from_utf8(text).size() / 2 > longest_for_jpeg;
  };
  if (std::ranges::any_of(texts, too_long))
    throw UsageError("--prompt, with --negative, is longer than a JPEG picture's text can be, " +
                     std::to_string(longest_for_jpeg) + " characters: write --output as .png or .webp");
}

void check_picture_size(const std::string& option, const std::filesystem::path& file, int width, int height) {
  if (image::format_of_name(file) != image::Format::webp) return;
  if (width > image::longest_side_of_webp || height > image::longest_side_of_webp)
    throw UsageError(option + " is WebP, whose sides have at most " +
                     std::to_string(image::longest_side_of_webp) + " pixels, and this picture has " +
                     std::to_string(width) + "x" + std::to_string(height) +
                     ": write it as .png or .jpg, or make it smaller");
}

std::vector<std::string> quality_warnings(const CLI::Option* quality,
                                          std::span<const std::filesystem::path> pictures) {
  const bool acts = std::ranges::any_of(pictures, [](const std::filesystem::path& file) {
    return image::format_of_name(file) != image::Format::png;
  });
  if (quality->count() == 0 || acts) return {};
  return {"--quality does nothing for PNG, which keeps every pixel: write --output as .jpg or .webp"};
}

}  // namespace precast::cli
