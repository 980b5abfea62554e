// --preview: a picture file that shows how a picture forms.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <families/preview.hpp>

#include <precast/io/atomic_file.hpp>

namespace precast::cli {

struct PreviewOptions {
  std::optional<int> every;
  bool vae = false;
  std::string output;  ///< "": next to the pictures

  /// The file of the previews; nothing if none were asked for.
  std::optional<std::filesystem::path> file(const std::filesystem::path& pictures) const;
  /// The request for previews: each one atomically replaces the previous one, so that a viewer can follow.
  /// `old` applies to a file that exists before the first. Throws UsageError if the file name has no suffix
  /// of a picture format.
  std::optional<families::PreviewRequest> request(const std::filesystem::path& pictures, int quality,
                                                  io::OldFile old) const;
};

/// Adds --preview, --preview-vae and --preview-output.
void add_preview_options(CLI::App& command, PreviewOptions& options);

}  // namespace precast::cli
