// The outputs of a command: checks every file before any computation, and writes pictures to files or to
// standard output.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include <precast/io/atomic_file.hpp>

namespace precast::cli {

/// Whether the name denotes standard output: "-", or /dev/stdout.
bool is_standard_output(const std::filesystem::path& name);

/// Throws UsageError if an option that needs a file names standard output: "--trace is '-': name a file for
/// the trace", where `what` is "the trace".
void check_names_file(std::string_view option, const std::string& name, std::string_view what);

/// Throws UsageError if the output of an HTML page ends in neither .html nor .htm, so that no browser would
/// open it. An empty name and standard output are accepted.
void check_page_name(std::string_view option, const std::string& name);

/// Throws UsageError if standard output or standard error is redirected to the file, also through a link:
/// the messages would be lost.
void check_not_redirected_to(const std::filesystem::path& file);

/// Checks every file that a run will write, and removes temporary files that killed runs left in their
/// folders. Throws InputError that names the first file that cannot be written. Throws UsageError if two
/// names denote one file, also through links to folders, or a file that a standard stream is redirected to;
/// and for standard output if it is a terminal.
void check_output_files(std::span<const std::filesystem::path> files);

/// Writes bytes to a file atomically, or to standard output. Throws InputError that names the file, also if
/// it exists and `old` says that it is to be kept.
void write_output(const std::filesystem::path& name, std::span<const std::byte> bytes,
                  io::OldFile old = io::OldFile::replaced);

}  // namespace precast::cli
