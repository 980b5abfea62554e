// Runs the pipeline for generate and compare.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include <cli/running/cure_option.hpp>
#include <cli/running/picture_run.hpp>
#include <cli/terminal/interrupt.hpp>
#include <cli/terminal/output.hpp>
#include <cli/terminal/progress.hpp>
#include <process/seconds_since.hpp>

namespace precast::cli {

std::string PictureRun::advice() const {
  if (trace && trace->first_non_finite()) return diagnosis(*trace->first_non_finite());
  if (!non_finite() && !all_black) return {};
  const std::string text = non_finite_latents
                               ? with_commas(non_finite_latents) + " of the latents are not finite"
                           : result.nan_values ? with_commas(result.nan_values) + " values of pixels are NaN"
                                               : "the picture is entirely black";
  if (trace) return text + ", but every op gave finite values";
  return text + (watch::compiled ? ": run" : ": configure with -DPRECAST_WATCH=on and run") +
         " again with --trace FILE to see which op left the finite numbers and which option cures it "
         "(in f16 most often --upcast-attention or --precision bf16)";
}

PictureRun run_pipeline(const families::Pipeline& pipeline, const families::Request& request,
                        std::unique_ptr<TraceFile> trace, const families::PictureCallback& write) {
  std::optional<watch::Watching> watching;
  if (trace) watching.emplace(*trace);
  ProgressReporter reporter;
  const auto start = std::chrono::steady_clock::now();
  const std::size_t wanted = request.prompts.size() * static_cast<std::size_t>(request.batch);
  std::size_t written = 0;
  const auto stop_if_asked = [&] {
    if (written == 0 && !request.preview) return throw_if_interrupted();
    throw_if_interrupted(std::to_string(written) + " of " + std::to_string(wanted) + " pictures written");
  };
  PictureRun run{.result = pipeline.generate(
                     request,
                     [&](const families::Progress& at) {
                       stop_if_asked();
                       reporter.update(at.stage, at.done, at.total);
                     },
                     [&](const families::Result& so_far) {
                       if (!write) return;
                       reporter.clear();
                       write(so_far);
                       if (++written < wanted) stop_if_asked();
                     })};
  run.seconds = process::seconds_since(start);
  if (!write) stop_if_asked();
  const auto latents = run.result.latents.values();
  run.non_finite_latents =
      std::count_if(latents.begin(), latents.end(), [](f32 value) { return !std::isfinite(value); });
  run.all_black =
      std::any_of(run.result.images.begin(), run.result.images.end(), [](const image::Image& picture) {
        return std::all_of(picture.rgb.begin(), picture.rgb.end(),
                           [](std::uint8_t value) { return value == 0; });
      });
  run.trace = std::move(trace);
  return run;
}

std::vector<std::filesystem::path> numbered(const std::filesystem::path& file, std::size_t count) {
  if (count == 1) return {file};
  std::vector<std::filesystem::path> files;
  for (std::size_t i = 1; i <= count; ++i) {
    std::filesystem::path name = file.stem();
    const std::string number = std::to_string(i);
    name += "-" + std::string(std::to_string(count).size() - number.size(), '0') + number;
    name += file.extension();
    files.push_back(file.parent_path() / name);
  }
  return files;
}

}  // namespace precast::cli
