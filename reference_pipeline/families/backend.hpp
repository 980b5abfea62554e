// Backend: where models run, and where the compiled ones are found.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include <precast/error.hpp>
#include <precast/memory/buffer.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/nn/parameter_source.hpp>
#include <precast/policy/choice.hpp>

namespace precast::families {

/// Held while components are loaded and run: a backend readies its device in it.
class DeviceSession {
 public:
  virtual ~DeviceSession() = default;
  /// Waits until the work that was submitted to the device in this session is done; does nothing where work
  /// runs synchronously.
  virtual void wait() const {}
};

/// Loads a component. Throws what reading does.
template <class Component, class Config>
using ComponentLoader =
    std::function<std::unique_ptr<Component>(const Config& config, const nn::ParameterSource& source)>;

/// The loaders of one family's components under one policy on one backend: a struct that the family
/// defines, with a ComponentLoader for each component.
using FamilyModels = std::any;

/// The device that a pipeline's models run on: its loaders, sessions and memory.
class Backend {
 public:
  virtual ~Backend() = default;

  /// The models of all families under a policy. Throws PathNotCompiled where a build leaves it out.
  virtual std::span<const FamilyModels> models(const PolicyChoice& choice) const = 0;

  /// Readies the device for the calling thread.
  virtual std::unique_ptr<DeviceSession> start() const = 0;
  /// Bytes that components can still allocate, where that is known.
  virtual std::optional<std::int64_t> free_memory() const = 0;
  /// Which memory components allocate.
  virtual DryRun::Counts counted_memory() const { return DryRun::Counts::host_memory; }
  /// Bytes of that memory that this process already holds.
  virtual std::int64_t held_memory() const { return 0; }
  /// Bytes that running adds to those of tensors: code that is loaded or generated, and stacks.
  virtual std::int64_t code_memory() const { return 0; }
  /// Bytes that components' tensors hold, and their peak since the last reset.
  virtual MemoryUse memory_use() const = 0;
  std::int64_t peak_memory() const { return memory_use().peak; }
  virtual void reset_peak_memory() const = 0;
};

/// Throws PathNotCompiled: a backend has no models of the family that was asked for.
[[noreturn]] void throw_no_models(const PolicyChoice& choice);

/// The models of one family among those of all, or nullptr.
template <class Models>
const Models* models_among(std::span<const FamilyModels> all) {
  for (const FamilyModels& models : all)
    if (const auto* wanted = std::any_cast<Models>(&models)) return wanted;
  return nullptr;
}

/// The models of one family under a policy. Throws PathNotCompiled where a build leaves it out.
template <class Models>
const Models& models_of(const Backend& backend, const PolicyChoice& choice) {
  if (const Models* const wanted = models_among<Models>(backend.models(choice))) return *wanted;
  throw_no_models(choice);
}

/// The CPU.
const Backend& cpu_backend();

}  // namespace precast::families
