// precast completions: what a shell needs to complete commands, options and their values, from the parser
// itself.
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <cli/arguments.hpp>
#include <cli/commands.hpp>
#include <cli/output.hpp>

namespace precast::cli {

namespace {

/// What follows an option: nothing, one of some words, a file, a folder, or anything.
struct CompletedOption {
  std::vector<std::string> names;  ///< "--preset"
  std::string help;                ///< its first line
  std::vector<std::string> words;
  bool takes_value = false, file = false, folder = false;
};

struct CompletedCommand {
  std::string name, help;
  std::vector<CompletedOption> options;
  CompletedOption argument;  ///< what the command takes without an option's name
};

std::string first_line(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  std::string safe;
  for (const char c : line)  // these would end a quoted word of a shell or a description of zsh
    safe += c == '\'' || c == '"' || c == '[' || c == ']' || c == '`' || c == '$' || c == '\\' ? ' ' : c;
  return safe;
}

CompletedOption completed(const CLI::Option& option) {
  CompletedOption result;
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  result.help = first_line(option.get_description());
  result.takes_value = option.get_items_expected_max() > 0;
  const std::string type = option.get_type_name();
  result.file = type == "FILE" || type == "PATH";
  result.folder = type == "DIR";
  if (type.find('|') != std::string::npos)
    for (std::size_t at = 0; at != std::string::npos;) {
      const std::size_t bar = type.find('|', at);
      result.words.push_back(type.substr(at, bar == std::string::npos ? bar : bar - at));
      at = bar == std::string::npos ? bar : bar + 1;
    }
  return result;
}

std::vector<CompletedCommand> completed(const CLI::App& app) {
  std::vector<CompletedCommand> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    CompletedCommand result{command->get_name(), first_line(command->get_description()), {}, {}};
    for (const CLI::Option* option : command->get_options()) {
      if (option->get_positional())
        result.argument = completed(*option);
      else
        result.options.push_back(completed(*option));
    }
    commands.push_back(std::move(result));
  }
  return commands;
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : std::string(between)) + word;
  return text;
}

std::string bash_script(const std::vector<CompletedCommand>& commands) {
  std::string names, cases;
  for (const CompletedCommand& command : commands) {
    names += (names.empty() ? "" : " ") + command.name;
    std::string options, values;
    for (const CompletedOption& option : command.options) {
      options += (options.empty() ? "" : " ") + joined(option.names, " ");
      if (!option.takes_value) continue;
      values += "        " + joined(option.names, "|") + ") ";
      if (!option.words.empty())
        values += "COMPREPLY=($(compgen -W '" + joined(option.words, " ") + "' -- \"$word\"))";
      else if (option.folder)
        values += "COMPREPLY=($(compgen -d -- \"$word\"))";
      else if (option.file)
        values += "COMPREPLY=($(compgen -f -- \"$word\"))";
      else
        values += ":";
      values += "; return ;;\n";
    }
    cases += "    " + command.name + ")\n";
    if (!values.empty()) cases += "      case \"$before\" in\n" + values + "      esac\n";
    cases += "      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W '" + options + "' -- \"$word\"))\n";
    if (!command.argument.words.empty())
      cases +=
          "      else COMPREPLY=($(compgen -W '" + joined(command.argument.words, " ") + "' -- \"$word\"))\n";
    else if (command.argument.file)
      cases += "      else COMPREPLY=($(compgen -f -- \"$word\"))\n";
    cases += "      fi ;;\n";
  }
  return "# bash completion for precast: source this file, or put it into /etc/bash_completion.d\n"
         "_precast() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  COMPREPLY=()\n"
         "  if [[ $COMP_CWORD -eq 1 ]]; then\n"
         "    COMPREPLY=($(compgen -W '" +
         names +
         " --help --version' -- \"$word\"))\n"
         "    return\n"
         "  fi\n"
         "  case \"${COMP_WORDS[1]}\" in\n" +
         cases +
         "  esac\n"
         "}\n"
         "complete -o filenames -F _precast precast\n";
}

std::string zsh_script(const std::vector<CompletedCommand>& commands) {
  std::string names, cases;
  for (const CompletedCommand& command : commands) {
    names += "    '" + command.name + ":" + command.help + "'\n";
    cases += "      " + command.name + ") _arguments";
    const auto action = [](const CompletedOption& option) -> std::string {
      if (!option.takes_value) return "";
      if (!option.words.empty()) return ":value:(" + joined(option.words, " ") + ")";
      if (option.folder) return ":folder:_files -/";
      return option.file ? ":file:_files" : ":value: ";
    };
    for (const CompletedOption& option : command.options)
      for (const std::string& name : option.names)
        cases += " \\\n        '*" + name + "[" + option.help + "]" + action(option) + "'";
    if (!command.argument.words.empty())
      cases += " \\\n        '1:value:(" + joined(command.argument.words, " ") + ")'";
    else if (command.argument.file)
      cases += " \\\n        '1:file:_files'";
    cases += " ;;\n";
  }
  return "#compdef precast\n"
         "# zsh completion for precast: save as _precast in a folder of $fpath\n"
         "_precast() {\n"
         "  local -a commands=(\n" +
         names +
         "  )\n"
         "  local context state line\n"
         "  _arguments -C '(-h --help)'{-h,--help}'[help]' '--version[version]' '1:command:->command' "
         "'*::argument:->arguments'\n"
         "  case $state in\n"
         "    command) _describe command commands ;;\n"
         "    arguments)\n"
         "      case $words[1] in\n" +
         cases +
         "      esac ;;\n"
         "  esac\n"
         "}\n"
         "if [ \"$funcstack[1]\" = _precast ]; then _precast \"$@\"; else compdef _precast precast; fi\n";
}

std::string fish_script(const std::vector<CompletedCommand>& commands) {
  std::string text =
      "# fish completion for precast: save as ~/.config/fish/completions/precast.fish\n"
      "complete -c precast -f\n"
      "complete -c precast -n __fish_use_subcommand -l help -s h -d Help\n"
      "complete -c precast -n __fish_use_subcommand -l version -d Version\n";
  for (const CompletedCommand& command : commands) {
    text +=
        "complete -c precast -n __fish_use_subcommand -a " + command.name + " -d '" + command.help + "'\n";
    const std::string when = "complete -c precast -n '__fish_seen_subcommand_from " + command.name + "'";
    for (const CompletedOption& option : command.options) {
      text += when;
      for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (option.takes_value) text += option.file || option.folder ? " -r -F" : " -x";
      if (!option.words.empty()) text += " -a '" + joined(option.words, " ") + "'";
      text += " -d '" + option.help + "'\n";
    }
    if (!command.argument.words.empty()) text += when + " -a '" + joined(command.argument.words, " ") + "'\n";
    if (command.argument.file) text += when + " -F\n";
  }
  return text;
}

}  // namespace

void add_completions_command(CLI::App& app) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completions", "A script that completes commands and options in a shell");
  command->add_option("shell", *shell, "The shell")->type_name("bash|zsh|fish")->required();
  command->footer(
      "Examples:\n"
      "  source <(precast completions bash)\n"
      "  precast completions zsh > ~/.zfunc/_precast\n"
      "  precast completions fish > ~/.config/fish/completions/precast.fish");
  command->callback([shell] {
    static constexpr std::array<std::string_view, 3> shells{"bash", "zsh", "fish"};
    const std::string name = parse_name("the shell", *shell, shells);
    CLI::App all;
    build_app(all);
    const auto commands = completed(all);
    print(name == "bash"  ? bash_script(commands)
          : name == "zsh" ? zsh_script(commands)
                          : fish_script(commands));
  });
}

}  // namespace precast::cli
