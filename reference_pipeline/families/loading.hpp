// How the stages of every family's pipeline load a component.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <utility>

#include <families/stages.hpp>

#include <precast/io/component_source.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/nn/parameter_source.hpp>

namespace precast::families {

/// Opens the weights of a component, in the folder or file `path`, by `open(io::TakenCallback)`, and returns
/// what `use(const nn::ParameterSource&)` makes of them. Each byte that it takes is reported under the name
/// of the stage. Of a folder without weights a dry run finds out what they would take.
template <class Open, class Use>
auto with_weights(const std::filesystem::path& path, std::string_view component, std::string_view stage,
                  const Reporter& progress, Open&& open, Use&& use) {
  if (progress.meter) progress.meter->begin(stage == "load VAE encoder" ? "vae encoder" : component);
  if (DryRun::active() && std::filesystem::is_directory(path) && !io::ComponentSource::find_weights(path)) {
    const nn::AbsentParameters absent;
    auto loaded = use(static_cast<const nn::ParameterSource&>(absent));
    if (progress.meter) progress.meter->loaded();
    return loaded;
  }
  std::int64_t taken = 0, total = 0;
  const auto weights = open([&](std::size_t bytes) {
    taken += static_cast<std::int64_t>(bytes);
    if (progress) progress({stage, std::min(taken, total), total});
  });
  total = static_cast<std::int64_t>(weights.bytes_to_take());
  auto loaded = use(static_cast<const nn::ParameterSource&>(weights));
  if (progress.meter) progress.meter->loaded();
  if (progress) progress({stage, total, total});
  return loaded;
}

}  // namespace precast::families
