// What the denoising loops of all families share: how many steps they run, and what they give away between
// steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include <families/blocks.hpp>

#include <precast/backend.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/tensor/tensor.hpp>
#include <precast/watch/input_squares.hpp>

namespace precast::families {

/// A callback that gets the latents between steps.
struct LatentsCallback {
  std::int64_t every = 1;  ///< steps from one call to the next; there is one after the last step
  /// Called with the latents after `step` steps (`now`), and those of the previous call or the start
  /// (`before`), after `previous` steps.
  std::function<void(std::int64_t previous, HostView<const f32> before, std::int64_t step,
                     HostView<const f32> now)>
      show;
};

/// The steps to run of a loop of `steps`: all; in a dry run only those until the memory pool allocates
/// nothing new, since it learns the sizes in the first two (BlockCache).
inline std::int64_t steps_to_run(std::int64_t steps) {
  constexpr std::int64_t steps_of_dry_run = 3;
  return DryRun::active() ? std::min(steps_of_dry_run, steps) : steps;
}

/// Gives the state before `step` to a recording, if it asks for it. `state` computes it for the recording
/// alone, not for the picture: its layer inputs are not counted.
template <class State>
void record(const std::optional<Recording>& recording, std::int64_t step, f32 timestep, const State& state) {
  if (!recording || step % recording->every != 0) return;
  watch::InputSquares ignored;
  std::optional<watch::CountingInputSquares> elsewhere;
  if (watch::counted_input_squares()) elsewhere.emplace(ignored);
  recording->take({state(), 0, step, timestep});
}

inline namespace PRECAST_BACKEND {

/// Calls a loop's LatentsCallback, if it has one, with copies of the latents.
class LatentsObserver {
 public:
  LatentsObserver(const std::optional<LatentsCallback>& callback, HostView<const f32> start)
      : callback_(callback) {
    if (callback) before_ = HostTensor<f32>(start.shape(), start.values());
  }
  /// To be called after each of `steps` steps.
  void after(std::int64_t step, std::int64_t steps, const Tensor<f32>& latents) {
    if (!callback_ || (step % callback_->every != 0 && step != steps)) return;
    HostTensor<f32> now = to_host(latents);
    callback_->show(previous_, before_, step, now);
    before_ = std::move(now);
    previous_ = step;
  }

 private:
  const std::optional<LatentsCallback>& callback_;
  HostTensor<f32> before_;
  std::int64_t previous_ = 0;
};

}  // namespace PRECAST_BACKEND

}  // namespace precast::families
