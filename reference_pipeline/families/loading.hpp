// with_weights: loads a component in a stage of any family's pipeline.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

#include <families/stages.hpp>
#include <process/seconds_since.hpp>

#include <precast/io/find_weights.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/nn/parameter_source.hpp>

namespace precast::families {

/// A component to load, and the words for it in progress. A VAE's encoder and decoder are one component,
/// but their memory is counted under different names.
struct LoadStage {
  std::string_view component, words, counted_as = component;
};

/// Opens the weights of a component, in the folder or file `path`, by `open(io::TakenCallback)`, and
/// returns what `use(const nn::ParameterSource&)` makes of them. Reports each byte taken under the words of
/// the stage, and adds the time to the result's. For a folder without weights, a dry run counts the memory
/// that they would take.
template <class Open, class Use>
auto with_weights(const std::filesystem::path& path, const LoadStage& stage, const Reporter& progress,
                  Result& result, Open&& open, Use&& use) {
  const auto start = std::chrono::steady_clock::now();
  if (progress.meter) progress.meter->begin(stage.counted_as);
  if (DryRun::active() && std::filesystem::is_directory(path) && !io::find_weights(path)) {
    const nn::AbsentParameters absent;
    auto loaded = use(static_cast<const nn::ParameterSource&>(absent));
    if (progress.meter) progress.meter->loaded();
    return loaded;
  }
  std::int64_t taken = 0, total = 0;
  const auto weights = open([&](std::size_t bytes) {
    taken += static_cast<std::int64_t>(bytes);
    if (progress) progress({stage.words, std::min(taken, total), total});
  });
  total = static_cast<std::int64_t>(weights.bytes_to_take());
  auto loaded = use(static_cast<const nn::ParameterSource&>(weights));
  if (progress.meter) progress.meter->loaded();
  if (progress) progress({stage.words, total, total});
  result.load_seconds += process::seconds_since(start);
  return loaded;
}

}  // namespace precast::families
