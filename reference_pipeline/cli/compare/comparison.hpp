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

/// A policy and its picture.
struct Compared {
  std::string name;  ///< "fast", "f16+upcast-attention"
  PolicyChoice choice;
  image::Image picture;
  double psnr = 0;  ///< dB against the first; infinity where every byte is equal
  double mse = 0;   ///< of 8-bit values
  double seconds = 0;
  std::int64_t peak_bytes = 0;
  std::int64_t non_finite = 0;    ///< inf and NaN values of latents and pixels
  std::vector<LayerPeak> layers;  ///< only where asked for
  std::string advice;             ///< the op that first gave inf or NaN, and the cure; "" if all is finite
};

/// Sets the distance of a row's picture from the reference's. Throws ShapeError if their sizes differ.
void set_distance(const Compared& reference, Compared& row);

/// Runs the policies one after another. A policy with non-finite values runs a second time, watched, to
/// find the op that caused them. With `layers`, in builds that can watch ops, each policy runs once more,
/// watched, to record its layers' peaks. `write` gets all rows so far after each policy. Throws what
/// pipelines and `write` throw, and Interrupted, which says how many policies are done.
std::vector<Compared> compare_policies(const families::ModelFiles& model, const families::Request& request,
                                       std::span<const PolicyChoice> policies,
                                       const families::Backend& backend, bool layers,
                                       const std::function<void(std::span<const Compared>)>& write);

std::string comparison_text(std::span<const Compared> rows);
std::string comparison_markdown(std::span<const Compared> rows);
Json comparison_json(std::span<const Compared> rows);

/// "12 s in all, peak memory 136.2 MiB": run_summary for all policies together.
std::string comparison_summary(std::span<const Compared> rows, double seconds, bool on_device);

/// The size of comparison_sheet, computed with the longest numbers that it may show. Throws UsageError if
/// that is too large for a picture.
image::SheetSize comparison_sheet_size(const std::string& prompt, std::span<const PolicyChoice> policies,
                                       int width, int height);

/// The pictures side by side under the prompt, each with its policy and its distance from the first.
image::Image comparison_sheet(const std::string& prompt, std::span<const Compared> rows);

}  // namespace precast::cli
