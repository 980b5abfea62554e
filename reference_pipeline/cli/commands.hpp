// The commands of the program, one .cpp each: every function here adds one to the parser, which runs
// it.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <cli/run.hpp>

namespace precast::cli {

void add_generate_command(CLI::App& app);
void add_compare_command(CLI::App& app);
void add_doctor_command(CLI::App& app);
void add_record_command(CLI::App& app);
void add_cost_command(CLI::App& app);
void add_info_command(CLI::App& app);
void add_inspect_command(CLI::App& app);
void add_convert_command(CLI::App& app);
void add_policy_command(CLI::App& app);
void add_formats_command(CLI::App& app);
void add_tokenize_command(CLI::App& app);
void add_train_command(CLI::App& app);
void add_plan_command(CLI::App& app);
void add_report_command(CLI::App& app);
void add_autocast_command(CLI::App& app);
void add_experiment_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_completions_command(CLI::App& app);

/// Exit codes of the program.
namespace exit_code {
inline constexpr int ok = 0;
inline constexpr int error = 1;
inline constexpr int usage = 2;
inline constexpr int after_signal = 128;  ///< plus the signal's number: 130 for Ctrl-C
}  // namespace exit_code

/// The parser with every command in it.
void build_app(CLI::App& app);

/// The names of a parser's commands.
std::vector<std::string> command_names(const CLI::App& app);

}  // namespace precast::cli
