// Lays out CLI11's help in lines that fit the terminal.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <cli/commands.hpp>
#include <cli/help.hpp>
#include <cli/options/arguments.hpp>
#include <cli/terminal/output.hpp>
#include <cli/terminal/wrap.hpp>

#include <precast/io/joined.hpp>

namespace precast::cli {

namespace {

constexpr std::size_t wide = 76, wide_column = 36, narrow_column = 8;

/// Names on the left, their meaning beside them, or below if there is no room.
std::string in_two_columns(const std::string& name, const std::string& meaning) {
  const std::size_t width = help_columns(), column = width < wide ? narrow_column : wide_column;
  std::string text, line;
  for (const std::string& part : wrapped(name, width - 6)) {
    if (!line.empty()) text += line + "\n";
    line = (line.empty() ? "  " : "      ") + part;
  }
  for (const std::string& part : wrapped(meaning, width - column)) {
    if (line.size() >= column) {
      text += line + "\n";
      line.clear();
    }
    line.resize(column, ' ');
    line += part;
    text += line + "\n";
    line.clear();
  }
  return text;
}

class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return in_two_columns(make_option_name(option, is_positional) + make_option_opts(option),
                          make_option_desc(option));
  }
  std::string make_subcommand(const CLI::App* command) const override {
    return in_two_columns(command->get_name(), command->get_description());
  }
  std::string make_description(const CLI::App* app) const override {
    return paragraphs(app->get_description()) + "\n";
  }
  std::string make_usage(const CLI::App* app, std::string name) const override {
    const std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    const std::size_t end = usage.find_last_not_of('\n') + 1;
    return io::joined(wrapped(usage.substr(0, end), help_columns()), "\n  ") + usage.substr(end);
  }
  std::string make_footer(const CLI::App* app) const override { return paragraphs(app->get_footer()); }

 private:
  /// Wraps prose; keeps indented lines as example commands.
  static std::string paragraphs(const std::string& text) {
    std::string laid_out, prose;
    const auto finish = [&] {
      if (prose.empty()) return;
      for (const std::string& line : wrapped(prose, help_columns())) laid_out += line + "\n";
      prose.clear();
    };
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      const std::string line = text.substr(begin, end - begin);
      begin = end + 1;
      if (!line.empty() && line.front() != ' ') {
        prose += (prose.empty() ? "" : " ") + line;
        continue;
      }
      finish();
      if (line.empty())
        laid_out += "\n";
      else
        for (const std::string& part : wrapped_command(line, help_columns())) laid_out += part + "\n";
    }
    finish();
    return laid_out;
  }
};

}  // namespace

std::shared_ptr<CLI::Formatter> help_formatter() {
  auto formatter = std::make_shared<HelpFormatter>();
  formatter->label("SUBCOMMAND", "COMMAND");
  return formatter;
}

void add_help_command(CLI::App& app) {
  const auto name = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("help", "The help of a command, or of all");
  command->add_option("command", *name, "The command")->type_name(io::joined(command_names(app), "|"));
  command->footer(
      "Example:\n"
      "  precast help generate");
  command->callback([name] {
    CLI::App all;
    build_app(all);
    if (name->empty()) return print(all.help());
    const std::vector<std::string> commands = command_names(all);
    const std::vector<std::string_view> views(commands.begin(), commands.end());
    print(all.get_subcommand(parse_name("the command", *name, views))->help("precast"));
  });
}

}  // namespace precast::cli
