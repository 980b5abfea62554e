// A backend whose denoisers load weights that were changed on the way from their files.
#pragma once

#include <list>
#include <memory>
#include <utility>
#include <vector>

#include <families/backend.hpp>

#include <precast/nn/parameter_source.hpp>

namespace precast::families {

/// What is done to the weights of a denoiser before it loads them.
class WeightsChange {
 public:
  virtual ~WeightsChange() = default;
  /// Weights made from those of a file, which outlive them.
  virtual std::unique_ptr<nn::ParameterSource> change(const nn::ParameterSource& weights) const = 0;
  /// Is told when a denoiser has loaded what `change` gave; may throw.
  virtual void loaded(const nn::ParameterSource& changed) const = 0;
};

/// Loads a component's changed weights by `load`. `change` must outlive what is returned.
template <class Component, class Config>
ComponentLoader<Component, Config> with_change(ComponentLoader<Component, Config> load,
                                               const WeightsChange& change) {
  return [load = std::move(load), &change](const Config& config, const nn::ParameterSource& source) {
    const auto changed = change.change(source);
    auto loaded = load(config, *changed);
    change.loaded(*changed);
    return loaded;
  };
}

/// Another backend, but for that change. To be used from one thread.
class ChangedWeights final : public Backend {
 public:
  /// Both must outlive this, and this the pipelines that are opened with it.
  ChangedWeights(const Backend& backend, const WeightsChange& change) : backend_(backend), change_(change) {}

  /// The models of families that can change their weights.
  std::span<const FamilyModels> models(const PolicyChoice& choice) const override;
  std::unique_ptr<DeviceSession> start() const override { return backend_.start(); }
  std::optional<std::int64_t> free_memory() const override { return backend_.free_memory(); }
  DryRun::Counts counted_memory() const override { return backend_.counted_memory(); }
  std::int64_t held_memory() const override { return backend_.held_memory(); }
  std::int64_t code_memory() const override { return backend_.code_memory(); }
  MemoryUse memory_use() const override { return backend_.memory_use(); }
  void reset_peak_memory() const override { backend_.reset_peak_memory(); }

 private:
  struct Changed {
    PolicyChoice choice;
    std::vector<FamilyModels> models;
  };

  const Backend& backend_;
  const WeightsChange& change_;
  mutable std::list<Changed> changed_;  ///< addresses stay: spans of them are handed out
};

}  // namespace precast::families
