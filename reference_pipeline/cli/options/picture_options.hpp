// The options of pictures that are read and written: how they fit, what their names may end in, how well they
// are kept.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <image/fit.hpp>

namespace precast::cli {

/// Adds --quality.
CLI::Option* add_quality_option(CLI::App& command, int& quality);

/// Adds --fit.
CLI::Option* add_fit_option(CLI::App& command, image::Fit& fit);

/// Says on stderr where the picture to start from changes its size, and how; nothing where it fits.
void tell_fit(const std::string& file, const image::Image& given, int width, int height, image::Fit fit);

/// Throws UsageError where --output is the name of a folder or ends in something that no picture is written
/// as, or where one of the texts (a prompt, with a negative one that is recorded) is longer than that kind of
/// file can hold beside the settings: before anything is computed for it.
void check_picture_name(const std::string& output, std::span<const std::string> texts);

/// Throws UsageError where a file of that name, which the option gave, cannot hold so many pixels.
void check_picture_size(const std::string& option, const std::filesystem::path& file, int width, int height);

/// A warning where --quality was given, and none of the pictures is of a kind that has one.
std::vector<std::string> quality_warnings(const CLI::Option* quality,
                                          std::span<const std::filesystem::path> pictures);

}  // namespace precast::cli
