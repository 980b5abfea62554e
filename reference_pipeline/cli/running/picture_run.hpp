// One run of the pipeline for the command line: optionally watched, interruptible by Ctrl-C, and checked
// for non-finite values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <cli/running/trace_file.hpp>
#include <families/pipeline.hpp>

#include <precast/watch/trace.hpp>

namespace precast::cli {

/// A run's pictures, and what is wrong with them.
struct PictureRun {
  families::Result result;
  double seconds = 0;
  std::int64_t non_finite_latents = 0;
  bool all_black = false;                      ///< whether one of the pictures is entirely black
  std::unique_ptr<TraceFile> trace = nullptr;  ///< set if the run was watched

  /// The number of non-finite values in the final latents, and of NaN pixels.
  std::int64_t non_finite() const { return non_finite_latents + result.nan_values; }

  /// One line on non-finite values and their cure, or "" if all are finite.
  std::string advice() const;
};

/// Generates, with progress on stderr, watched if there is a trace to write. Calls `write` with each
/// picture as soon as it is complete. Throws what the pipeline and `write` throw, and Interrupted, which
/// says how many pictures were written.
PictureRun run_pipeline(const families::Pipeline& pipeline, const families::Request& request,
                        std::unique_ptr<TraceFile> trace = nullptr,
                        const families::PictureCallback& write = {});

/// "out-1.png" … "out-3.png" for three pictures, "out-01.png" … for ten and more, "out.png" for one.
std::vector<std::filesystem::path> numbered(const std::filesystem::path& file, std::size_t count);

}  // namespace precast::cli
