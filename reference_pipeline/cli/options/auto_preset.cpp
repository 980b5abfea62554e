// Chooses a preset by what the CPU multiplies natively and what fits into memory.
#include <algorithm>
#include <cstddef>
#include <tuple>

#include <cli/options/auto_preset.hpp>
#include <families/backend.hpp>

#include <precast/error.hpp>
#include <precast/policy/paths.hpp>

namespace precast::cli {

namespace {

bool cpu_has_bf16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

/// Sort key of candidates: flash attention before stored scores, then precisions that the machine
/// multiplies natively (without native bf16, all but bf16), then the smaller memory.
std::tuple<bool, bool, std::size_t> sort_key(const Candidate& candidate, const Machine& machine) {
  const PolicyChoice& choice = candidate.preset.choice;
  return {!choice.options.flash, (choice.precision == precision_of<bf16>) != machine.native_bf16,
          bytes_of(choice.precision)};
}

/// Why a candidate comes before the others that fit, in the order of sort_key.
std::string reason_for(const PolicyChoice& choice, std::span<const Candidate> candidates,
                       const Machine& machine) {
  const auto is_bf16 = [](const PolicyChoice& of) { return of.precision == precision_of<bf16>; };
  const bool any_bf16 =
      std::ranges::any_of(candidates, [&](const Candidate& of) { return is_bf16(of.preset.choice); });
  if (is_bf16(choice) && machine.native_bf16) return std::string(machine.what) + " multiplies bf16 natively";
  if (any_bf16 && !machine.native_bf16) return std::string(machine.what) + " has no native bf16";
  if (choice.options.flash &&
      std::ranges::any_of(candidates, [](const Candidate& of) { return !of.preset.choice.options.flash; }))
    return "it stores no attention scores";
  return "its values take " + std::to_string(bytes_of(choice.precision)) + " bytes each";
}

}  // namespace

Machine machine_of(const families::ChosenDevice& device) {
  const std::int64_t free_bytes = device.backend->free_memory().value_or(0);
  if (device.is_cuda) return {.free_bytes = free_bytes, .native_bf16 = true, .what = "this GPU"};
  return {.free_bytes = free_bytes, .native_bf16 = cpu_has_bf16(), .what = "this CPU"};
}

std::vector<Candidate> compiled_candidates(
    const std::function<std::int64_t(const PolicyChoice&)>& needed_bytes) {
  std::vector<Candidate> candidates;
  for (const NamedPreset& preset : named_presets)
    if (path_compiled(preset.choice)) candidates.push_back({preset, needed_bytes(preset.choice)});
  return candidates;
}

AutoChoice choose_preset(const Machine& machine, std::span<const Candidate> candidates) {
  if (candidates.empty()) throw PathNotCompiled("this build holds no preset: name a policy with --precision");
  std::vector<Candidate> order(candidates.begin(), candidates.end());
  std::ranges::stable_sort(order, {},
                           [&](const Candidate& candidate) { return sort_key(candidate, machine); });
  const auto fits = [&](const Candidate& candidate) {
    return machine.free_bytes == 0 || candidate.needed_bytes <= machine.free_bytes;
  };
  const auto memory = [&](const Candidate& candidate) {
    if (candidate.needed_bytes == 0 || machine.free_bytes == 0) return std::string();
    return "; it takes " + in_bytes(candidate.needed_bytes) + " more, " + in_bytes(machine.free_bytes) +
           " are free";
  };
  std::string passed_over;
  for (const Candidate& candidate : order) {
    if (!fits(candidate)) {
      passed_over += (passed_over.empty() ? "" : " and ") + std::string(candidate.preset.name);
      continue;
    }
    if (candidates.size() == 1)
      return {candidate.preset, "this build holds no other preset" + memory(candidate)};
    return {candidate.preset, reason_for(candidate.preset.choice, candidates, machine) +
                                  (passed_over.empty() ? "" : "; " + passed_over + " would not fit") +
                                  memory(candidate)};
  }
  const Candidate& least = *std::min_element(
      candidates.begin(), candidates.end(),
      [](const Candidate& a, const Candidate& b) { return a.needed_bytes < b.needed_bytes; });
  return {least.preset, "it needs the least" + memory(least)};
}

}  // namespace precast::cli
