// Builds the parser of all commands, runs one of them, and turns every error into one line and an exit code.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>

#include <cli/arguments.hpp>
#include <cli/commands.hpp>
#include <cli/interrupt.hpp>

namespace precast::cli {

namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

/// The first option that the command does not have, and what was probably meant; "" where it has them all.
std::string unknown_option(const CLI::App& command, const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  bool is_value = false;
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    const std::string name = argument.substr(0, argument.find('='));
    const CLI::Option* option =
        is_value || !name.starts_with("-") ? nullptr : command.get_option_no_throw(name);
    if (!option && !is_value && name.starts_with("-") && name.size() > 1) {
      const std::string nearest = nearest_name(name, names);
      return "there is no option " + name + (nearest.empty() ? "" : ": did you mean " + nearest + "?");
    }
    is_value = option && name == argument && option->get_items_expected_max() > 0;
  }
  return {};
}

void parse(CLI::App& app, const std::vector<std::string>& arguments) {
  if (!arguments.empty() && !arguments.front().starts_with("-")) {
    const auto names = command_names(app);
    if (std::find(names.begin(), names.end(), arguments.front()) == names.end()) {
      const std::string nearest = nearest_name(arguments.front(), names);
      throw UsageError("there is no command '" + arguments.front() + "': " +
                       (nearest.empty() ? "it is " + listed(names) : "did you mean " + nearest + "?"));
    }
  }
  const std::vector<std::string> plain = plain_arguments(arguments);
  try {
    app.parse(std::vector<std::string>(plain.rbegin(), plain.rend()));
  } catch (const CLI::Success&) {  // --help and --version
    throw;
  } catch (const CLI::ParseError& wrong) {
    const auto chosen = app.get_subcommands();
    const std::string unknown = unknown_option(chosen.empty() ? app : *chosen.front(), plain);
    if (!unknown.empty()) throw UsageError(unknown);
    const bool extras = wrong.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
    throw UsageError(extras ? "there is an argument too many" : wrong.what());
  }
}

int fail(const std::string& message, int code) {
  std::cout.flush();
  std::cerr << "precast: error: " << message << std::endl;
  return code;
}

/// What the library says of memory, with what to do about it on this command line.
std::string with_advice(const std::string& problem) {
  if (problem.find(": try ") != std::string::npos) return problem;  // it was estimated: there is advice
  return problem + ": close other programs, or use a smaller size or --preset memory";
}

}  // namespace

void build_app(CLI::App& app) {
  app.name("precast");
  app.description(
      "Precast makes pictures from words with Flux models on the CPU, under a precision policy that was "
      "fixed when\n"
      "it was compiled, and shows what every number format does on the way.");
  app.set_version_flag("--version", "precast " PRECAST_VERSION);
  app.set_help_flag("-h,--help", "This help; after a command, the help of that command");
  app.require_subcommand(1);
  add_generate_command(app);
  add_compare_command(app);
  add_info_command(app);
  add_inspect_command(app);
  add_policy_command(app);
  add_formats_command(app);
  add_tokenize_command(app);
  add_completions_command(app);
  app.get_formatter()->column_width(36);
  app.footer(
      "Examples:\n"
      "  precast generate --prompt \"a large red circle on a blue background, at the left\"\n"
      "  precast generate --model ~/FLUX.1-schnell --prompt \"a lighthouse\" --preset memory --output "
      "lighthouse.png\n"
      "  precast compare --prompt \"a small green star on a black background\"\n"
      "  precast COMMAND --help\n"
      "\n"
      "Exit codes: 0 done, 1 error, 2 the command line was wrong, 130 interrupted.");
}

int run(const std::vector<std::string>& arguments) {
  try {
    catch_interrupts();
    CLI::App app;
    build_app(app);
    if (arguments.empty()) {
      std::cerr << app.help();
      return exit_code::usage;
    }
    try {
      parse(app, arguments);
    } catch (const CLI::Success& wanted) {
      app.exit(wanted, std::cout, std::cerr);
    }
    errno = 0;
    if (std::cout.flush()) return exit_code::ok;
    if (errno == EPIPE) return exit_code::error;  // who reads has seen enough, as `head` does
    throw Error(std::string("could not write to standard output: ") + std::strerror(errno ? errno : EIO));
  } catch (const UsageError& wrong) {
    CLI::App app;
    build_app(app);
    const auto names = command_names(app);
    const bool known =
        !arguments.empty() && std::find(names.begin(), names.end(), arguments.front()) != names.end();
    return fail(
        std::string(wrong.what()) + " (see precast " + (known ? arguments.front() + " " : "") + "--help)",
        exit_code::usage);
  } catch (const Interrupted& stop) {
    return fail(stop.what(), exit_code::interrupted);
  } catch (const OutOfMemory& problem) {
    return fail(with_advice(problem.what()), exit_code::error);
  } catch (const std::bad_alloc&) {
    return fail(with_advice("out of memory"), exit_code::error);
  } catch (const std::exception& problem) {
    return fail(problem.what(), exit_code::error);
  }
}

}  // namespace precast::cli
