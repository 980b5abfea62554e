// The options for the number of pictures, and for what they start from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include <CLI/CLI.hpp>
#include <cli/options/run_options.hpp>
#include <families/request.hpp>
#include <image/fit.hpp>

namespace precast::cli {

struct StartOptions {
  std::optional<int> batch;
  std::optional<std::uint64_t> seed_step;
  std::string image, mask;
  std::optional<double> strength;
  image::Fit fit = image::Fit::stretch;
  std::optional<std::string> refiner;
  std::optional<double> refiner_start;

  /// Applies the options to the request, except --image, --mask and --refiner.
  void apply(families::Request& request) const;
  /// Reads --image and --mask into the request, and resolves --refiner. Throws UsageError if one of them is
  /// also an output.
  void read(families::Request& request, std::span<const std::filesystem::path> outputs) const;
  /// The number of pictures. Throws UsageError if there are more than families::most_pictures.
  std::size_t pictures(const families::Request& request) const;
};

/// Adds --batch, --prompts-file and --seed-step.
void add_count_options(CLI::App& command, RunOptions& run, StartOptions& options);
/// Adds --image, --strength, --fit and --mask. Returns that of --image.
CLI::Option* add_image_options(CLI::App& command, StartOptions& options);
/// Adds --refiner and --refiner-start.
void add_refiner_options(CLI::App& command, StartOptions& options);

}  // namespace precast::cli
