// The options that `generate` and `compare` share: prompt, model, seed, sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <cli/auto_preset.hpp>
#include <cli/policy_options.hpp>
#include <families/device.hpp>
#include <families/pipeline.hpp>

namespace precast::cli {

struct RunOptions {
  CLI::Option* prompts = nullptr;
  std::optional<std::string> model;
  std::string device = "auto";
  std::uint64_t seed = 0;
  std::optional<int> steps, max_sequence_length, width, height, threads;
  std::optional<double> guidance;

  /// The request that they ask for, of one picture a prompt.
  families::Request request() const;
  /// Tells on stderr what `auto` chose, and why. Comes after all checks, so that an error is the only line.
  void tell_device(const families::ChosenDevice& chosen) const;
  /// Tells the library how many threads to use, where that was asked for.
  void set_threads() const;
};

/// Adds --prompt, --model, --device, --seed, --steps, --guidance, --max-sequence-length, --width, --height
/// and
/// --threads.
void add_run_options(CLI::App& command, RunOptions& options);

/// A whole number in [low, high], into `value`.
CLI::Option* add_integer(CLI::App& command, const std::string& name, std::optional<int>& value, int low,
                         int high, const std::string& description);

/// What `auto` chooses for a model and a request.
AutoChoice chosen_by_auto(const std::filesystem::path& model, const families::Request& request,
                          const families::ChosenDevice& device);

}  // namespace precast::cli
