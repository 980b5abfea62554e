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

  /// The request that they ask for, of one picture a prompt. Reads the prompts' files. Where no prompt is
  /// given it has `usual_prompt`; where that is "" too, throws UsageError.
  families::Request request(const std::string& usual_prompt = {}) const;
  /// The model that they name.
  families::ModelFiles files() const { return model_files(model, component_files); }
  /// Takes --cfg-scale for --guidance where a model has one setting of the two, and throws UsageError where
  /// they contradict each other.
  void settle_guidance(const families::Pipeline& pipeline, families::Request& request) const;
  /// Tells on stderr what `auto` and `random` chose, and why. Comes after all checks, so that an error is the
  /// only line.
  void tell_device(const families::ChosenDevice& chosen) const;
};

/// Tells the library how many threads to use, where that was asked for. PRECAST_THREADS, whatever it says, is
/// not looked at then. Comes before anything else that may ask the library for threads.
void set_threads(const std::optional<int>& threads);

/// Says which device auto took, and why, where it had a choice. Comes after all checks, so that an error is
/// the only line.
void tell_device(const std::string& asked_for, const families::ChosenDevice& chosen);

/// Adds --prompt, --model, --device, --seed, --steps and the other options of a run.
void add_run_options(CLI::App& command, RunOptions& options);

/// Adds --model, --device or --threads alone. `unaffected` ends the help of --threads: what does not depend
/// on them.
void add_model_option(CLI::App& command, std::optional<std::string>& model);
void add_device_option(
    CLI::App& command, std::string& device,
    const std::string& description = "auto, cpu, cuda or cuda:N; auto takes CUDA where there is a device");
void add_threads_option(CLI::App& command, std::optional<int>& threads, const std::string& unaffected);

/// Adds --quiet.
void add_quiet_option(CLI::App& command);

/// A whole number in [low, high], into `value`; `names` begins with the one that errors name.
CLI::Option* add_integer(CLI::App& command, const std::string& names, std::optional<int>& value, int low,
                         int high, const std::string& description);

/// The policies of a run's components.
struct ChosenPolicies {
  families::ComponentChoices components;
  std::optional<AutoChoice> by_auto;  ///< what `auto` chose, where it was asked

  /// Tells on stderr what `auto` chose, and why. Comes after all checks, so that an error is the only line.
  void tell() const;
};

/// The policies that the options name; where they name none, what `auto` chooses for a model and a request,
/// whose guidance it settles first.
ChosenPolicies chosen_policies(const PolicyOptions& options, const RunOptions& run,
                               const families::ModelFiles& model, families::Request& request,
                               const families::ChosenDevice& device);

}  // namespace precast::cli
