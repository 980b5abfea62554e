// precast completions: scripts by which shells complete commands, options and their values, generated from
// the parser.
#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <cli/commands.hpp>
#include <cli/options/arguments.hpp>
#include <cli/terminal/output.hpp>

#include <precast/io/joined.hpp>

namespace precast::cli {

namespace {

/// The value of an option: none, one of several words, a list of them, a file, a folder, or anything.
struct CompletedOption {
  std::vector<std::string> names;  ///< "--preset"
  std::string help;                ///< its first line
  std::vector<std::string> words;
  bool takes_value = false, file = false, folder = false;
  bool list = false;  ///< the value is a comma-separated list of words
};

struct CompletedCommand {
  std::string name, help;
  std::vector<CompletedOption> options;
  CompletedOption argument;  ///< the positional argument
};

std::string first_line(const std::string& text) {
  const std::string line = text.substr(0, std::min(text.find('\n'), text.find("; ")));
  std::string safe;
  for (const char c : line)  // these would end a quoted word in a shell, or a description in zsh
    safe += c == '\'' || c == '"' || c == '[' || c == ']' || c == '`' || c == '$' || c == '\\' ? ' ' : c;
  return safe;
}

/// Suffix of a type whose value is a comma-separated list.
constexpr std::string_view list_mark = ",...";

/// Whether a word of an option's type is a placeholder: "FILE" as the whole type, or a number among words,
/// as in "N|random" and "cpu|cuda:N".
bool is_placeholder(std::string_view word, bool by_itself) {
  if (by_itself) return std::ranges::any_of(word, [](unsigned char c) { return std::isupper(c); });
  return word == "N" || word.ends_with("/N") || word.ends_with(":N");
}

/// The literal words of a type such as "N|random|auto".
std::vector<std::string> words_of(const std::string& type) {
  std::vector<std::string> words;
  const bool by_itself = type.find('|') == std::string::npos;
  for (std::size_t at = 0; at != std::string::npos;) {
    const std::size_t bar = type.find('|', at);
    const std::string word = type.substr(at, bar == std::string::npos ? bar : bar - at);
    if (!is_placeholder(word, by_itself)) words.push_back(word);
    at = bar == std::string::npos ? bar : bar + 1;
  }
  return words;
}

CompletedOption completed(const CLI::Option& option) {
  CompletedOption result;
  for (const std::string& name : option.get_lnames()) result.names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) result.names.push_back("-" + name);
  result.help = first_line(option.get_description());
  result.takes_value = option.get_items_expected_max() > 0;
  const std::string type = option.get_type_name();
  result.file = type == "FILE" || type == "FILE..." || type == "PATH";
  result.folder = type == "DIR";
  result.list = type.ends_with(list_mark);
  if (type.find('|') != std::string::npos)
    result.words = words_of(type.substr(0, type.size() - (result.list ? list_mark.size() : 0)));
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

/// The bash command that lists completions of a value, one a line: words or file names.
std::string bash_value(const CompletedOption& option) {
  const std::string words = "'" + io::joined(option.words, " ") + "'";
  if (option.list) return "_precast_list " + words;
  if (!option.words.empty()) return "_precast_offer -W " + words;
  if (option.folder) return "_precast_offer -d";
  return option.file ? "_precast_offer -f" : ":";
}

std::string bash_script(const std::vector<CompletedCommand>& commands) {
  const auto names_of = [](const CompletedOption& option) { return io::joined(option.names, " "); };
  std::string cases;
  for (const CompletedCommand& command : commands) {
    std::string values;
    for (const CompletedOption& option : command.options)
      if (option.takes_value)
        values += "        " + io::joined(option.names, "|") + ") " + bash_value(option) + "; return ;;\n";
    cases += "    " + command.name + ")\n";
    if (!values.empty()) cases += "      case \"$before\" in\n" + values + "      esac\n";
    const bool takes_more = !command.argument.words.empty() || command.argument.file;
    cases += std::string("      if [[ $word == -*") + (takes_more ? "" : " || -z $word") +
             " ]]; then _precast_offer -W '" + io::joined(command.options, " ", names_of) + "'\n";
    if (takes_more) cases += "      else " + bash_value(command.argument) + "\n";
    cases += "      fi ;;\n";
  }
  return R"(# bash completion for precast: source this file, or put it into /etc/bash_completion.d
_precast_offer() { mapfile -t COMPREPLY < <(compgen "$@" -- "$word"); }
_precast_list() {  # words with commas between: the last of them is completed
  local given=
  [[ $word == *,* ]] && given=${word%,*},
  word=${word##*,}
  _precast_offer -W "$1"
  COMPREPLY=("${COMPREPLY[@]/#/$given}")
}
_precast() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  COMPREPLY=()
  if [[ $word == = ]]; then word=  # readline divides --option=value at its sign
  elif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}
  fi
  if [[ $COMP_CWORD -eq 1 ]]; then
    _precast_offer -W ')" +
         io::joined(commands, " ", &CompletedCommand::name) + R"( -h --help -V --version'
    return
  fi
  case "${COMP_WORDS[1]}" in
)" + cases +
         R"(  esac
}
complete -o filenames -F _precast precast
)";
}

std::string zsh_script(const std::vector<CompletedCommand>& commands) {
  std::string names, cases;
  for (const CompletedCommand& command : commands) {
    names += "    '" + command.name + ":" + command.help + "'\n";
    cases += "      " + command.name + ") _arguments -s";
    const auto action = [](const CompletedOption& option) -> std::string {
      if (!option.takes_value) return "";
      const std::string words = io::joined(option.words, " ");
      if (option.list) return ":values:_values -s , value " + words;
      if (!option.words.empty()) return ":value:(" + words + ")";
      if (option.folder) return ":folder:_files -/";
      return option.file ? ":file:_files" : ":value: ";
    };
    for (const CompletedOption& option : command.options)
      for (const std::string& name : option.names) {
        // A long option's value may follow "="; a short option's may follow directly.
        const char* joint = !option.takes_value ? "" : name.starts_with("--") ? "=" : "+";
        cases += " \\\n        '*" + name + joint + "[" + option.help + "]" + action(option) + "'";
      }
    if (!command.argument.words.empty())
      cases += " \\\n        '1:value:(" + io::joined(command.argument.words, " ") + ")'";
    else if (command.argument.file)
      cases += " \\\n        '1:file:_files'";
    cases += " ;;\n";
  }
  return R"(#compdef precast
# zsh completion for precast: save as _precast in a folder of $fpath
_precast() {
  local -a commands=(
)" + names +
         R"(  )
  local context state line
  _arguments -C '(-h --help)'{-h,--help}'[help]' '(-V --version)'{-V,--version}'[version]' \
    '1:command:->command' '*::argument:->arguments'
  case $state in
    command) _describe command commands ;;
    arguments)
      case $words[1] in
)" + cases +
         R"(      esac ;;
  esac
}
if [ "$funcstack[1]" = _precast ]; then _precast "$@"; else compdef _precast precast; fi
)";
}

std::string fish_script(const std::vector<CompletedCommand>& commands) {
  std::string text = R"(# fish completion for precast: save as ~/.config/fish/completions/precast.fish
function __precast_list  # words with commas between: the last of them is completed
    set -l given (commandline -ct | string replace -r '^--[^=]*=' '' | string replace -r '[^,]*$' '')
    for word in $argv
        echo $given$word
    end
end
function __precast_command  # whether this is the command
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test $words[2] = $argv[1]
end
complete -c precast -f
complete -c precast -n __fish_use_subcommand -l help -s h -d Help
complete -c precast -n __fish_use_subcommand -l version -s V -d Version
)";
  for (const CompletedCommand& command : commands) {
    text +=
        "complete -c precast -n __fish_use_subcommand -a " + command.name + " -d '" + command.help + "'\n";
    // `help` takes names of commands as arguments, so only the first word decides.
    const std::string when = "complete -c precast -n '__precast_command " + command.name + "'";
    for (const CompletedOption& option : command.options) {
      text += when;
      for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      if (option.takes_value) text += option.file || option.folder ? " -r -F" : " -x";
      const std::string words = io::joined(option.words, " ");
      if (option.list)
        text += " -a '(__precast_list " + words + ")'";
      else if (!words.empty())
        text += " -a '" + words + "'";
      text += " -d '" + option.help + "'\n";
    }
    if (!command.argument.words.empty())
      text += when + " -a '" + io::joined(command.argument.words, " ") + "'\n";
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
