// A check that the seconds of denoising are without those of previews.
#pragma once

#include <chrono>
#include <thread>

#include <catch2/catch.hpp>
#include <families/preview.hpp>
#include <families/request.hpp>

namespace precast::testing {

/// Shows previews slowly: the whole run has room for these beside the seconds of denoising.
template <class Pipeline>
void check_preview_seconds(const Pipeline& pipeline, families::Request request) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  constexpr Seconds slow{0.5};
  Seconds shown{0};
  request.preview = families::PreviewRequest{1, true, [&](const families::Preview&) {
                                               std::this_thread::sleep_for(slow);
                                               shown += slow;
                                             }};
  const auto start = Clock::now();
  const families::Result result = pipeline.generate(request);
  const Seconds all = Clock::now() - start;
  CHECK(shown > Seconds{0});
  CHECK(result.denoise_seconds > 0);
  CHECK(result.denoise_seconds + shown.count() <= all.count());
}

}  // namespace precast::testing
