#include <cli/picture_run.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <optional>

#include <cli/interrupt.hpp>
#include <precast/io/atomic_file.hpp>

namespace precast::cli {

std::string PictureRun::advice() const {
  if (trace && trace->first_non_finite()) return watch::diagnosis(*trace->first_non_finite());
  const bool black = std::find(all_black.begin(), all_black.end(), true) != all_black.end();
  if (!non_finite_latents && !black) return {};
  std::string text = non_finite_latents
                         ? std::to_string(non_finite_latents) + " of the latents are not finite, so the picture is black"
                         : std::string("the picture is entirely black, as it is where values are not finite");
  if (trace) return text + "; but every op gave finite values";
  return text + ": run again with --trace FILE to see which op left the finite numbers and which option cures it "
                "(with f16 most often --upcast-attention or --precision bf16)";
}

PictureRun run_pipeline(const flux::FluxPipeline& pipeline, const flux::Request& request, bool watched,
                        const flux::ProgressCallback& progress) {
  PictureRun run;
  run.estimated_bytes = pipeline.estimate(request).peak();
  if (watched) run.trace = std::make_unique<watch::Trace>();
  std::optional<watch::Watching> watching;
  if (watched) watching.emplace(*run.trace);
  const auto start = std::chrono::steady_clock::now();
  run.result = pipeline.generate(request, [&](const flux::Progress& at) {
    throw_if_interrupted();
    if (progress) progress(at);
  });
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  throw_if_interrupted();
  const auto latents = run.result.latents.values();
  run.non_finite_latents =
      std::count_if(latents.begin(), latents.end(), [](f32 value) { return !std::isfinite(value); });
  for (const image::Image& picture : run.result.images)
    run.all_black.push_back(
        std::all_of(picture.rgb.begin(), picture.rgb.end(), [](std::uint8_t value) { return value == 0; }));
  return run;
}

flux::ProgressCallback progress_on_stderr() {
  return [stage = std::string()](const flux::Progress& at) mutable {
    if (stage == at.stage) return;
    stage = at.stage;
    std::cerr << stage << "\n";
  };
}

std::vector<std::filesystem::path> numbered(const std::filesystem::path& file, std::size_t count) {
  if (count == 1) return {file};
  std::vector<std::filesystem::path> files;
  for (std::size_t i = 1; i <= count; ++i) {
    std::filesystem::path name = file.stem();
    name += "-" + std::to_string(i);
    name += file.extension();
    files.push_back(file.parent_path() / name);
  }
  return files;
}

void require_writable(const std::filesystem::path& file) {
  const io::AtomicFile probe(file);  // makes a temporary file where it will be, and removes it
}

}  // namespace precast::cli
