// The options that `generate` and `compare` share: prompt, model, seed, sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <cli/options/auto_preset.hpp>
#include <cli/options/model_path.hpp>
#include <cli/options/policy_options.hpp>
#include <families/device.hpp>
#include <families/pipeline.hpp>

namespace precast::cli {

struct RunOptions {
  CLI::Option* prompts = nullptr;
  CLI::Option* negative = nullptr;
  std::optional<std::string> model, prompts_file;
  ComponentFiles component_files;
  std::string device = "auto";
  families::Settings settings;
  bool random_seed = false;
  std::optional<double> cfg_scale;
  std::optional<int> threads;

  /// The request of the options, for one picture per prompt. Reads the files of prompts. Without a prompt
  /// it has `usual_prompt`; if that is "" too, throws UsageError.
  families::Request request(const std::string& usual_prompt = {}) const;
  /// The model of the options.
  families::ModelFiles files() const { return model_files(model, component_files); }
  /// Uses --cfg-scale as --guidance for a model with only one of the two settings. Throws UsageError if
  /// they contradict each other.
  void resolve_guidance(const families::Pipeline& pipeline, families::Request& request) const;
  /// Prints on stderr what `auto` and `random` chose, and why. Called after all checks, so that an error is
  /// the only line.
  void note_device(const families::ChosenDevice& chosen) const;
};

/// Sets the library's number of threads, if one was given; PRECAST_THREADS is then ignored. Must be called
/// before anything else that may query the number of threads.
void set_threads(const std::optional<int>& threads);

/// Prints which device auto chose, and why, if there was a choice. Called after all checks, so that an
/// error is the only line.
void note_device(const std::string& asked_for, const families::ChosenDevice& chosen);

/// Adds --prompt, --model, --device, --seed, --steps and the other options of a run.
void add_run_options(CLI::App& command, RunOptions& options);

/// Adds --model, --device or --threads alone. `unaffected` ends the help of --threads: the results that do
/// not depend on it.
void add_model_option(CLI::App& command, std::optional<std::string>& model);
void add_device_option(
    CLI::App& command, std::string& device,
    const std::string& description = "auto, cpu, cuda or cuda:N; auto takes CUDA where there is a device");
void add_threads_option(CLI::App& command, std::optional<int>& threads, const std::string& unaffected);

/// Adds --quiet.
void add_quiet_option(CLI::App& command);

/// Adds a whole number in [low, high], parsed into `value`; errors use the first of `names`.
CLI::Option* add_integer(CLI::App& command, const std::string& names, std::optional<int>& value, int low,
                         int high, const std::string& description);

/// The policies of a run's components.
struct ChosenPolicies {
  families::ComponentChoices components;
  std::optional<AutoChoice> by_auto;  ///< what `auto` chose, if used

  /// Prints on stderr what `auto` chose, and why. Called after all checks: an error is the only line.
  void tell() const;
};

/// The policies of the options; if they name none, `auto` chooses them for the model and the request, after
/// the request's guidance is settled.
ChosenPolicies chosen_policies(const PolicyOptions& options, const RunOptions& run,
                               const families::ModelFiles& model, families::Request& request,
                               const families::ChosenDevice& device);

}  // namespace precast::cli
