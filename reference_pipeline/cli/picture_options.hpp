// The options of pictures that are written: what their names may end in, and how well they are kept.
#pragma once

#include <span>
#include <string>

#include <CLI/CLI.hpp>

namespace precast::cli {

/// Adds --quality.
CLI::Option* add_quality_option(CLI::App& command, int& quality);

/// Throws UsageError where --output ends in something that no picture is written as, or where a prompt is
/// longer than that kind of file can hold beside the settings: before anything is computed for it.
void check_picture_name(const std::string& output, std::span<const std::string> prompts);

}  // namespace precast::cli
