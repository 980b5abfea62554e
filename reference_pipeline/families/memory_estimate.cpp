// Adds up the memory that components need, and refuses a run that does not fit.
#include <algorithm>
#include <string>

#include <families/memory_estimate.hpp>
#include <families/presets.hpp>

#include <precast/error.hpp>
#include <precast/io/message.hpp>

namespace precast::families {

namespace {

std::int64_t together(const ComponentMemory& component) { return component.weights + component.activations; }

}  // namespace

std::int64_t MemoryEstimate::needed() const {
  std::int64_t most = 0;
  for (const ComponentMemory& component : components) most = std::max(most, together(component));
  return code + most;
}

void ComponentMeter::begin(std::string_view component) {
  finish_component();
  component_ = component;
  before_ = dry_.in_use();
  dry_.restart_peak();
}

void ComponentMeter::loaded() { weights_ = dry_.in_use() - before_; }

void ComponentMeter::finish_component() {
  if (component_.empty()) return;
  estimate_.components.push_back({component_, weights_, std::max<std::int64_t>(dry_.peak() - weights_, 0)});
  component_.clear();
}

MemoryEstimate ComponentMeter::estimate() {
  finish_component();
  return estimate_;
}

void require_memory(const std::filesystem::path& model, const MemoryEstimate& estimate,
                    const ComponentChoices& choices, bool vae_tiling,
                    std::optional<std::int64_t> free_bytes) {
  if (!free_bytes || estimate.needed() <= *free_bytes) return;
  const auto largest = std::max_element(
      estimate.components.begin(), estimate.components.end(),
      [](const ComponentMemory& a, const ComponentMemory& b) { return together(a) < together(b); });
  const auto smallest = smallest_preset();
  const bool is_smaller = smallest && std::ranges::any_of(all_roles, [&](Role role) {
                            return bytes_per_value(choices.of(role)) > bytes_per_value(smallest->choice);
                          });
  throw DoesNotFit(io::shown(model / largest->component) + ": needs " + in_bytes(largest->weights) +
                   " for weights and " + in_bytes(largest->activations) + " for results, " +
                   in_bytes(estimate.needed()) + " in all, and " + in_bytes(*free_bytes) + " are free: try " +
                   (largest->component == "vae" && !vae_tiling ? "--vae-tiling, or " : "") +
                   (is_smaller ? "--preset " + std::string(smallest->name) + ", or " : "") +
                   "a smaller --width and --height");
}

}  // namespace precast::families
