// What a command is going to write: every file looked at before anything is computed, and pictures written to
// files or to standard output.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <precast/io/atomic_file.hpp>

namespace precast::cli {

/// Whether the name stands for standard output: "-", or /dev/stdout.
bool is_standard_output(const std::filesystem::path& name);

/// Throws UsageError where an option of what is written to files alone names the standard output: "--trace is
/// '-': name a file for the trace". `what` ends it.
void check_names_file(std::string_view option, const std::string& name, std::string_view what);

/// Throws UsageError where the file of an HTML page has a name that nothing opens as one: neither .html nor
/// .htm. No name and the standard output pass.
void check_page_name(std::string_view option, const std::string& name);

/// Throws UsageError where a file is the one that standard output or standard error goes to, also through a
/// link: what is said there would be lost.
void check_words_stay(const std::filesystem::path& file);

/// Every file that a run will write. Removes what killed runs left in their folders. Throws InputError that
/// names the first that cannot be written, and UsageError where two names are of one file, also through links
/// to folders, or one of the file that standard output or standard error goes to, and for the standard output
/// where it is a terminal.
void check_output_files(std::span<const std::filesystem::path> files);

/// Writes bytes to a file, whole or not at all, or prints them. Throws InputError that names the file, also
/// where one is there that is to be kept.
void write_output(const std::filesystem::path& name, std::span<const std::byte> bytes,
                  io::OldFile old = io::OldFile::replaced);

}  // namespace precast::cli
