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
  std::string output;  ///< "" is beside the pictures

  /// The file that previews go to; nothing where none were asked for.
  std::optional<std::filesystem::path> file(const std::filesystem::path& pictures) const;
  /// What the pipeline is asked for: each preview is written over the one before it, whole, so that a viewer
  /// can follow; `old` is what the first does with a file that is there. Throws UsageError where the file's
  /// name is none of a picture.
  std::optional<families::PreviewWish> wish(const std::filesystem::path& pictures, int quality,
                                            io::OldFile old) const;
};

/// Adds --preview, --preview-vae and --preview-output.
void add_preview_options(CLI::App& command, PreviewOptions& options);

}  // namespace precast::cli
