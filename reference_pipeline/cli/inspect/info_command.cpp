// precast info: the settings a picture was made with, as a command that makes it again.
#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include <cli/commands.hpp>
#include <cli/options/run_options.hpp>
#include <cli/picture_settings/picture_settings.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>
#include <image/picture_file.hpp>

#include <precast/io/mapped_file.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

/// An object of strings in insertion order; of a repeated name the last value counts. Looking up each name
/// in the JSON object itself would take seconds for 40,000 names.
class TextObject {
 public:
  void add(const std::string& name, const std::string& text) {
    auto& pairs = object_.get_ref<Json::object_t&>();
    const auto [place, is_new] = places_.try_emplace(name, pairs.size());
    if (is_new)
      pairs.emplace_back(name, text);
    else
      std::next(pairs.begin(), static_cast<std::ptrdiff_t>(place->second))->second = text;
  }
  const Json& json() const { return object_; }

 private:
  Json object_ = Json::object();
  std::map<std::string, std::size_t> places_;
};

Json info_json(const std::string& file, image::Format format, const image::Picture& picture,
               const PictureSettings& settings, const RemadeCommand& command) {
  TextObject values, texts;
  for (const auto& [name, value] : settings.values) values.add(name, value);
  for (const image::Text& text : picture.texts) texts.add(text.key, text.value);
  return {{"file", file},
          {"format", image::to_string(format)},
          {"width", picture.image.width},
          {"height", picture.image.height},
          {"source", to_string(settings.source)},
          {"prompt", settings.prompt},
          {"negative_prompt", value_or_null(settings.negative)},
          {"settings", values.json()},
          {"command", command.arguments},
          {"notes", command.notes},
          {"texts", texts.json()}};
}

void print_info(const std::string& file, bool json) {
  const io::MappedFile mapped(file);
  const image::Format format = image::format_of(mapped.bytes(), file);
  const image::Picture picture = image::decode_image(mapped.bytes(), file);
  const PictureSettings settings = settings_of(picture.texts, file);
  const RemadeCommand command = command_for(settings);
  if (json) return print(info_json(file, format, picture, settings, command));
  print(shell_line(command.arguments) + "\n");
  for (const std::string& note : command.notes)
    notes() << "note: " << io::printable(note, note.size()) << "\n";
}

}  // namespace

void add_info_command(CLI::App& app) {
  struct Options {
    std::string file;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("info", "How a picture was made, as a command that makes it again");
  command
      ->add_option("picture", options->file, "PNG, JPEG or WebP, of precast, AUTOMATIC1111, Forge or ComfyUI")
      ->type_name("FILE")
      ->required();
  command->add_flag("--json", options->json, "The settings, the command and the texts, as JSON");
  add_quiet_option(*command);
  command->footer(
      "The command goes to stdout; what it cannot say goes to stderr, a note a line.\n"
      "\n"
      "Examples:\n"
      "  precast info out.png\n"
      "  eval \"$(precast info out.png) --output another.png\"\n"
      "  precast info out.png --json");
  command->callback([options] { print_info(options->file, options->json); });
}

}  // namespace precast::cli
