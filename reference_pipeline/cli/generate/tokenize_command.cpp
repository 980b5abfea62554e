// precast tokenize: the token ids of a text in each of a model's two tokenizers.
#include <memory>
#include <optional>
#include <string>

#include <cli/commands.hpp>
#include <cli/options/model_path.hpp>
#include <cli/terminal/output.hpp>
#include <families/registry.hpp>

#include <precast/io/joined.hpp>
#include <precast/policy/visit.hpp>

namespace precast::cli {

namespace {

/// A policy to open the model with: tokens do not depend on it, so any that this build holds.
PolicyChoice any_compiled_choice() {
  PolicyChoice choice;
  for_each_path([&](auto path) { choice = decltype(path)::choice; });
  return choice;
}

}  // namespace

void add_tokenize_command(CLI::App& app) {
  struct Options {
    std::optional<std::string> model;
    CLI::Option* text = nullptr;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("tokenize", "The token ids that a model's CLIP and T5 tokenizers make of a text");
  command
      ->add_option("--model,-m", options->model,
                   "A model folder, the name of a model in Hugging Face's cache, shapes, which is the "
                   "default, or shapes-sd")
      ->type_name("DIR");
  options->text =
      command->add_option("--text", "The text, which may be empty")->type_name("TEXT")->required();
  command->add_flag("--json", options->json, "JSON on stdout");
  command->footer(
      "Special tokens are in, padding is out, and the ids are cut at the encoder's length.\n"
      "\n"
      "Example:\n"
      "  precast tokenize --model ~/FLUX.1-dev --text \"a red circle\" --json");
  command->callback([options] {
    const auto pipeline =
        families::open(model_files(options->model, {}),
                       families::ComponentChoices::all(any_compiled_choice()), families::cpu_backend());
    Json json = Json::object();
    std::string lines;
    for (const families::NamedTokens& tokens : pipeline->tokens(options->text->results().front())) {
      json[std::string(tokens.tokenizer)] = tokens.ids;
      lines += std::string(tokens.tokenizer) + ": " + io::joined(tokens.ids, " ") + "\n";
    }
    if (options->json)
      print(json);
    else
      print(lines);
  });
}

}  // namespace precast::cli
