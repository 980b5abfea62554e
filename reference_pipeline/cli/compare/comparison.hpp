// One prompt and seed under several policies, measured against the first of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <cli/running/layer_peaks.hpp>
#include <cli/terminal/output.hpp>
#include <families/backend.hpp>
#include <families/model_files.hpp>
#include <families/pipeline.hpp>
#include <image/contact_sheet.hpp>
#include <image/image.hpp>

#include <precast/policy/choice.hpp>

namespace precast::cli {

/// A policy and what it made.
struct Compared {
  std::string name;  ///< "fast", "f16+upcast-attention"
  PolicyChoice choice;
  image::Image picture;
  double psnr = 0;  ///< dB against the first; infinity where every byte is equal
  double mse = 0;   ///< of 8-bit values
  double seconds = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t non_finite = 0;    ///< values of latents and pixels that are inf or NaN
  std::vector<LayerPeak> layers;  ///< where they were asked for
  std::string advice;  ///< which op left the finite numbers and what cures it; "" where all is well
};

/// The policies that a comma-separated list names; every preset of this build for an empty one. Throws
/// UsageError.
std::vector<PolicyChoice> listed_policies(const std::vector<std::string>& lists);

/// Sets how far a picture is from the reference's. Throws ShapeError where their sizes differ.
void set_distance(const Compared& reference, Compared& row);

/// Runs them one after another. Where values are not finite, that policy runs a second time, watched, to find
/// the op. With `layers`, in builds that can watch, each runs once more, watched, for the largest values of
/// its layers. `write` is given all rows that there are after each policy. Throws what pipelines and `write`
/// throw, and Interrupted, which says how many policies are done.
std::vector<Compared> compare_policies(const families::ModelFiles& model, const families::Request& request,
                                       std::span<const PolicyChoice> policies,
                                       const families::Backend& backend, bool layers,
                                       const std::function<void(std::span<const Compared>)>& write);

std::string comparison_text(std::span<const Compared> rows);
std::string comparison_markdown(std::span<const Compared> rows);
Json comparison_json(std::span<const Compared> rows);

/// "12 s in all, peak memory 136.2 MiB": as run_summary has it, of all policies.
std::string comparison_summary(std::span<const Compared> rows, double seconds, bool on_device);

/// The size that comparison_sheet will have, by the longest numbers that it may show. Throws UsageError where
/// it is too large for a picture.
image::SheetSize comparison_sheet_size(const std::string& prompt, std::span<const PolicyChoice> policies,
                                       int width, int height);

/// The pictures side by side, each with its policy and how far it is from the first; under the prompt.
image::Image comparison_sheet(const std::string& prompt, std::span<const Compared> rows);

}  // namespace precast::cli
