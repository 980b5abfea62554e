// One run of the pipeline for the command line: watched where that is wanted, stopped by Ctrl-C, and looked
// over for what is not finite.
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

/// What a run made, and what is wrong with it.
struct PictureRun {
  families::Result result;
  double seconds = 0;
  std::int64_t non_finite_latents = 0;
  bool all_black = false;                      ///< one of the pictures has no other pixels
  std::unique_ptr<TraceFile> trace = nullptr;  ///< where the run was watched

  /// Values of the final latents that are not finite, and of pixels that are NaN.
  std::int64_t non_finite() const { return non_finite_latents + result.nan_values; }

  /// One line on what is not finite and what cures it, or "" where all is well.
  std::string advice() const;
};

/// Generates, with progress on stderr, watched where there is a trace to write. `write` is given each picture
/// as soon as it is there. Throws what the pipeline and `write` throw, and Interrupted, which says how many
/// were written.
PictureRun run_pipeline(const families::Pipeline& pipeline, const families::Request& request,
                        std::unique_ptr<TraceFile> trace = nullptr,
                        const families::PictureCallback& write = {});

/// "out-1.png" … "out-3.png" for three pictures, "out-01.png" … for ten and more, "out.png" for one.
std::vector<std::filesystem::path> numbered(const std::filesystem::path& file, std::size_t count);

}  // namespace precast::cli
