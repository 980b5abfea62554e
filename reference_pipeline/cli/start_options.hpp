// The options of generate and record that say how many pictures there are, and what they start from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <cli/run_options.hpp>
#include <families/request.hpp>
#include <image/fit.hpp>

namespace precast::cli {

/// The most pictures of one run.
inline constexpr std::size_t most_pictures = 1024;

struct StartOptions {
  std::optional<int> batch;
  std::optional<std::uint64_t> seed_step;
  std::string image;
  std::optional<double> strength;
  image::Fit fit = image::Fit::stretch;

  /// What they ask for, into the request; --image is not read yet.
  void apply(families::Request& request) const;
  /// Throws UsageError where there are more than most_pictures; else how many there are.
  std::size_t pictures(const families::Request& request) const;
};

/// Adds --batch, --prompts-file, --seed-step, --image, --strength and --fit. Returns that of --image.
CLI::Option* add_start_options(CLI::App& command, RunOptions& run, StartOptions& options);

}  // namespace precast::cli
