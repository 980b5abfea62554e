// Pictures and the settings in them.
#include <cli/picture_settings/picture_settings.hpp>
#include <fuzz/target.hpp>
#include <image/picture_file.hpp>

namespace precast::testing {

void fuzz_picture(std::span<const std::byte> input) {
  answer_or_refusal([&] { image::decode_image(input, "picture"); });
}

void fuzz_picture_text(std::span<const std::byte> input) {
  for (const char* key : {"parameters", "prompt", "workflow"})
    answer_or_refusal([&] {
      const image::Text text{key, std::string(as_text(input))};
      const cli::PictureSettings settings = cli::settings_of(std::span(&text, 1), "picture");
      cli::shell_line(cli::command_for(settings).arguments);
    });
}

}  // namespace precast::testing
