// Shared by the stages of every family's pipeline: the reporting of their progress, and the order in which
// they run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <families/backend.hpp>
#include <families/memory_estimate.hpp>
#include <families/request.hpp>
#include <process/memory.hpp>
#include <vae/autoencoder.hpp>

#include <precast/memory/dry_run.hpp>

namespace precast::families {

/// Whether each picture is decoded as soon as it is denoised, with both models in memory, or all of them at
/// the end, with one model in memory at a time.
enum class Order : bool { in_stages, one_by_one };

/// Receives a run's progress; in a dry run, `meter` counts the memory of each component.
struct Reporter {
  const ProgressCallback& callback;
  ComponentMeter* meter = nullptr;

  explicit operator bool() const { return static_cast<bool>(callback); }
  void operator()(const Progress& at) const { callback(at); }
};

/// How many pictures a request is for.
inline std::int64_t pictures(const ResolvedRequest& request) {
  return static_cast<std::int64_t>(request.prompts.size()) * request.batch;
}

/// Bytes of one picture of a request.
inline std::int64_t picture_bytes(const ResolvedRequest& request) {
  return std::int64_t{3} * request.width * request.height;
}

/// The autoencoder's tiling for a request.
inline vae::Tiling tiling_of(const ResolvedRequest& request) {
  return request.vae_tiling ? vae::Tiling::usual() : vae::Tiling{};
}

/// Whether the picture to start from is kept as it is, and no step is taken.
inline bool keeps_picture(const ResolvedRequest& full, const Request& given) {
  return given.image && full.strength == 0;
}

/// Every text of a request that is encoded: its prompts, then the negative prompt.
inline std::vector<std::string> texts_of(const ResolvedRequest& request) {
  std::vector<std::string> texts = request.prompts;
  if (request.negative) texts.push_back(*request.negative);
  return texts;
}

/// The order of a run, and its memory estimate.
struct RunPlan {
  Order order;
  MemoryEstimate estimate;
};

/// Plans a run: one by one where one denoiser makes several pictures and that fits into free memory, else
/// in stages. `make_run(reporter)` begins the run, here a dry one.
template <class MakeRun>
RunPlan planned(const Backend& backend, const ResolvedRequest& full, const Request& given,
                MakeRun&& make_run) {
  const auto needed = [&](Order order) {
    const auto session = backend.start();
    ComponentMeter meter(backend.counted_memory());
    const ProgressCallback nobody;
    make_run(Reporter{nobody, &meter}).make_pictures(order, {});
    MemoryEstimate estimate = meter.estimate();
    estimate.held = backend.held_memory();
    if (backend.counted_memory() == DryRun::Counts::host_memory)
      estimate.largest_so_far = process::peak_resident_memory();
    estimate.code = backend.code_memory();
    return estimate;
  };
  if (pictures(full) > 1 && !full.refiner && !keeps_picture(full, given)) {
    MemoryEstimate estimate = needed(Order::one_by_one);
    const auto free_bytes = backend.free_memory();
    if (!free_bytes || estimate.needed() <= *free_bytes) return {Order::one_by_one, std::move(estimate)};
  }
  return {Order::in_stages, needed(Order::in_stages)};
}

/// Makes the pictures of a run as planned; the result has both the memory it took and the estimate.
template <class MakeRun>
Result run_as_planned(const Backend& backend, RunPlan plan, const ProgressCallback& progress,
                      const PictureCallback& on_picture, MakeRun&& make_run) {
  const auto session = backend.start();
  backend.reset_peak_memory();
  Result result = make_run(Reporter{progress}).make_pictures(plan.order, on_picture);
  result.peak_bytes = backend.peak_memory();
  result.estimate = std::move(plan.estimate);
  return result;
}

}  // namespace precast::families
