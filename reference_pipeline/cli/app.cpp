// Builds the parser of all commands, runs one of them, and turns every error into one line and an exit code.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

#include <cli/command_line.hpp>
#include <cli/commands.hpp>
#include <cli/help.hpp>
#include <cli/options/arguments.hpp>
#include <cli/terminal/interrupt.hpp>
#include <cli/terminal/output.hpp>
#include <cli/terminal/standard_streams.hpp>
#include <cli/version_text.hpp>
#include <cluster/job.hpp>
#include <cluster/launch.hpp>
#include <families/presets.hpp>
#include <families/request_error.hpp>
#include <process/memory.hpp>
#include <registration/kept_registration.hpp>

#include <precast/io/memory_reserve.hpp>
#include <precast/io/message.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::cli {

namespace {

/// Whether this build has training policies, and formats for experiments to compare.
constexpr bool has_training = PRECAST_HAS_TRAINING, has_experiments = PRECAST_HAS_EXPERIMENTS;

/// A command that a build can be configured without.
struct OptionalCommand {
  std::string_view name;
  bool compiled;
  std::string_view reason;   ///< why a build lacks the command
  std::string_view options;  ///< CMake options that add the command
};
constexpr std::string_view no_training = "has no training policy",
                           training_options = "-DPRECAST_PRESET=all and -DPRECAST_TRAINING=default";
constexpr std::array optional_commands{
    OptionalCommand{"train", has_training, no_training, training_options},
    OptionalCommand{"bench", has_training, no_training, training_options},
    OptionalCommand{"experiment", has_experiments, "does not hold f32, bf16 and f16 together",
                    "-DPRECAST_PRESET=all and -DPRECAST_PRECISIONS=all"},
    OptionalCommand{"doctor", watch::compiled, "cannot watch ops", "-DPRECAST_WATCH=on"},
};

void parse(CLI::App& app, std::vector<std::string> arguments) {
  if (!arguments.empty() && !arguments.front().starts_with("-")) {
    const auto names = command_names(app);
    const std::string& asked =
        arguments.front() == "help" && arguments.size() > 1 ? arguments[1] : arguments.front();
    const auto optional = std::ranges::find(optional_commands, asked, &OptionalCommand::name);
    if (optional != optional_commands.end() && !optional->compiled)
      throw PathNotCompiled("this build " + std::string(optional->reason) + ", and so has no command '" +
                            asked + "': configure with " + std::string(optional->options));
    if (std::find(names.begin(), names.end(), arguments.front()) == names.end()) {
      const std::string nearest = nearest_name(arguments.front(), names);
      throw UsageError("there is no command '" + arguments.front() + "': " +
                       (nearest.empty() ? "it is " + listed(names) : "did you mean " + nearest + "?"));
    }
  }
  const CLI::App* const command =
      arguments.front().starts_with("-") ? &app : app.get_subcommand(arguments.front());
  if (check_command_line(*command, arguments) == CommandLine::asks_for_help)
    arguments = command == &app ? std::vector<std::string>{"--help"}
                                : std::vector<std::string>{arguments.front(), "--help"};
  const std::vector<std::string> plain = plain_arguments(arguments);
  try {
    app.parse(std::vector<std::string>(plain.rbegin(), plain.rend()));
  } catch (const CLI::Success&) {  // --help and --version
    throw;
  } catch (const CLI::ParseError& wrong) {
    if (command == &app) throw UsageError("there is no command: it is " + listed(command_names(app)));
    throw UsageError(wrong.what());  // CLI11's own error, which check_command_line did not catch
  }
}

/// Whether this rank prints no error. Most errors occur on all ranks: rank 0 prints them, and other ranks
/// print theirs only if nothing (such as mpirun, when a rank ends) stops them within 5 seconds. Rank 0
/// stays silent if another rank, which stopped it, has already printed its error.
bool is_silent(const cluster::Launch& launch) {
  if (launch.rank > 0)
    for (int tenths = 0; tenths < 50 && !interrupting_signal(); ++tenths)
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return cluster::is_reported_by_another_rank(launch.rank > 0 && interrupting_signal() != 0);
}

/// Delays the exit of a rank that prints nothing, so that the rank that prints ends first. When one rank
/// ends, mpirun sleeps for whole seconds, and the second that it grants the signalled ranks may already be
/// over when it wakes.
void wait_for_reporting_rank() {
  if (!interrupting_signal()) return;
  try {
    std::this_thread::sleep_for(cluster::grace_period());
  } catch (const Error&) {  // from the environment, reported already
  }
}

int fail(const std::string& message, int code) {
  std::cout.flush();
  cluster::Launch launch;
  try {
    launch = cluster::launched();
  } catch (const Error&) {  // may be the error that is being reported
  }
  // In one write: mpirun inserts its own lines between separate ones.
  const std::string rank = launch.rank > 0 ? "rank " + std::to_string(launch.rank) + ": " : "";
  const std::string line = io::printable(message, message.size());  // may quote the command line
  if (is_silent(launch))
    wait_for_reporting_rank();
  else
    std::cerr << "precast: error: " + rank + line + "\n" << std::flush;
  cluster::end_job(code);
  return code;
}

/// Reports a wrong command line, and the help command to read.
int fail_with_help(const std::string& message, const std::vector<std::string>& arguments) {
  CLI::App app;
  build_app(app);
  const auto names = command_names(app);
  const bool known =
      !arguments.empty() && std::find(names.begin(), names.end(), arguments.front()) != names.end();
  return fail(message + " (see precast " + (known ? arguments.front() + " " : "") + "--help)",
              exit_code::usage);
}

/// The library's out-of-memory message, with advice for this command line.
std::string with_advice(const std::string& problem, const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments.front() == "train")
    return problem + ": close other programs, or use a smaller --batch, --context or model";
  CLI::App app;
  build_app(app);
  const auto takes = [&](const char* option) {
    return std::ranges::any_of(app.get_subcommands({}), [&](const CLI::App* command) {
      return !arguments.empty() && command->get_name() == arguments.front() &&
             command->get_option_no_throw(option);
    });
  };
  std::string advice = ": close other programs";
  if (takes("--width")) advice += ", or use a smaller size";
  if (const auto smallest = families::smallest_preset(); smallest && takes("--preset"))
    advice += " or --preset " + std::string(smallest->name);
  return problem + advice;
}

}  // namespace

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

void build_app(CLI::App& app) {
  app.name("precast");
  app.description(
      std::string("Precast makes pictures from text with Flux and Stable Diffusion models") +
      (has_training ? " and trains small language models" : "") +
      ", under a precision policy that is fixed at compile time, and shows what every number format "
      "does on the way.");
  app.formatter(help_formatter());
  app.set_version_flag("-V,--version", version_text, "Version, commit, and what this build holds");
  app.set_help_flag("-h,--help", "This help; after a command, the help of that command");
  app.require_subcommand(1);
  add_generate_command(app);
  add_compare_command(app);
  if constexpr (watch::compiled) add_doctor_command(app);
  add_record_command(app);
  add_cost_command(app);
  add_info_command(app);
  add_inspect_command(app);
  add_convert_command(app);
  add_plan_command(app);
  add_report_command(app);
  add_policy_command(app);
  add_formats_command(app);
  add_autocast_command(app);
  if constexpr (has_experiments) add_experiment_command(app);
  add_tokenize_command(app);
  if constexpr (has_training) {
    add_train_command(app);
    add_bench_command(app);
  }
  add_completions_command(app);
  add_help_command(app);
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    command->group("Commands");
  app.footer(
      "Examples:\n"
      "  precast generate --prompt \"a large red circle on a blue background, at the left\"\n"
      "  precast generate --model ~/FLUX.1-schnell --prompt \"a lighthouse\" --preset memory --output "
      "lighthouse.png\n"
      "  precast compare --prompt \"a small green star on a black background, at the left\"\n"
      "  precast help COMMAND\n"
      "\n"
      "Exit codes: 0 done, 1 error, 2 the command line was wrong, 129 the terminal was closed, 130 "
      "interrupted (Ctrl-C), 143 terminated.");
}

int run(const std::vector<std::string>& arguments) {
  try {
    catch_interrupts();
    hold_standard_streams();
    process::configure_heap();
    registration::throw_failure();
    // Memory for unwinding: the destructor of nlohmann::json moves nested values (16 bytes each, at most
    // 100,000 in a tokenizer) into a vector, which may reallocate.
    constexpr std::size_t for_unwinding = std::size_t{4} << 20;
    const io::MemoryReserve reserve(for_unwinding);
    CLI::App app;
    build_app(app);
    if (arguments.empty()) {
      std::cerr << app.help();
      return exit_code::usage;
    }
    try {
      parse(app, arguments);
    } catch (const CLI::Success& wanted) {
      std::ostringstream text;
      app.exit(wanted, text, std::cerr);
      print(text.str());
    }
    const int problem = flush_standard_output();
    const bool all_written = problem == 0;
    if (all_written) cluster::end_job(exit_code::ok);
    if (all_written && interrupting_signal())
      return fail("interrupted after everything was done", exit_code::after_signal + interrupting_signal());
    if (all_written) return exit_code::ok;
    if (problem == EPIPE) return exit_code::error;  // the reader has closed the pipe, as `head` does
    throw Error(std::string("could not write to standard output: ") + std::strerror(problem));
  } catch (const UsageError& wrong) {
    return fail_with_help(wrong.what(), arguments);
  } catch (const families::RequestError& wrong) {
    return fail_with_help(wrong.what(), arguments);
  } catch (const Interrupted& stop) {
    return fail(stop.what(), exit_code::after_signal + stop.signal);
  } catch (const DoesNotFit& problem) {
    return fail(problem.what(), exit_code::error);
  } catch (const OutOfMemory& problem) {
    return fail(with_advice(problem.what(), arguments), exit_code::error);
  } catch (const std::bad_alloc&) {
    return fail(with_advice("out of memory", arguments), exit_code::error);
  } catch (
      const std::filesystem::filesystem_error& problem) {  // where a path is relative to a removed folder
    return fail(io::shown(problem.path1()) + ": " + problem.code().message() +
                    ": check the path, and that the current folder still exists",
                exit_code::error);
  } catch (const std::exception& problem) {
    return fail(problem.what(), exit_code::error);
  }
}

}  // namespace precast::cli
