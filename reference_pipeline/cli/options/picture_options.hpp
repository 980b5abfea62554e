// Options of the pictures that a command reads and writes: how inputs are fitted to the size, and suffixes
// and quality of outputs.
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

/// Reports on stderr if and how the initial picture is resized.
void note_fit(const std::string& file, const image::Image& given, int width, int height, image::Fit fit);

/// Throws UsageError before any computation: if --output is a folder or has a suffix of no picture format,
/// or if a text (a prompt, with the negative prompt that is recorded) is too long for that format beside
/// the settings.
void check_picture_name(const std::string& output, std::span<const std::string> texts);

/// Throws UsageError if the format of the file, given by `option`, cannot hold a picture of this size.
void check_picture_size(const std::string& option, const std::filesystem::path& file, int width, int height);

/// A warning if --quality was given and none of the pictures' formats has a quality.
std::vector<std::string> quality_warnings(const CLI::Option* quality,
                                          std::span<const std::filesystem::path> pictures);

}  // namespace precast::cli
