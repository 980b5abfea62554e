// The options of pictures that are read and written: how they fit, what their names may end in, how well they
// are kept.
#pragma once

#include <span>
#include <string>

#include <CLI/CLI.hpp>
#include <image/fit.hpp>

namespace precast::cli {

/// Adds --quality.
CLI::Option* add_quality_option(CLI::App& command, int& quality);

/// Adds --fit.
CLI::Option* add_fit_option(CLI::App& command, image::Fit& fit);

/// Says on stderr where the picture to start from changes its size, and how; nothing where it fits.
void tell_fit(const std::string& file, const image::Image& given, int width, int height, image::Fit fit);

/// Throws UsageError where --output ends in something that no picture is written as, or where a prompt is
/// longer than that kind of file can hold beside the settings: before anything is computed for it.
void check_picture_name(const std::string& output, std::span<const std::string> prompts);

}  // namespace precast::cli
