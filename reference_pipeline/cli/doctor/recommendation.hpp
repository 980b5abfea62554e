// Which of the policies that a model was examined under is to be taken, and the header that says so in C++.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cli/doctor/examination.hpp>
#include <cli/options/auto_preset.hpp>

namespace precast::cli {

/// How a policy fared.
enum class Verdict : std::uint8_t {
  safe,
  close,      ///< finite, but with less headroom than close_headroom
  overflows,  ///< something is not finite, or the picture black where the reference's is not
  too_large,  ///< it does not fit into memory, and did not run
};
std::string_view to_string(Verdict verdict);

/// Below it another prompt, seed or size may overflow: results of one prompt are seen, not all that there
/// are.
inline constexpr double close_headroom = 2;

Verdict verdict_of(const Examination& examination, const Examination& reference);

/// A policy that was examined under its name, and what cured it where that was tried.
struct Examined {
  std::string name;  ///< "memory", "f16+flash"
  const Examination* found = nullptr;
  bool candidate = false;  ///< may be recommended, cured where it has to be
  std::optional<Treatment> treatment = std::nullopt;
  const Examination* treated = nullptr;  ///< the run that the treatment ended with

  /// The run that is to be judged where the policy is taken: the cured one's.
  const Examination& final_run() const { return treated ? *treated : *found; }
};

/// The widest precision's finite run, in the order of the list, with which pictures are compared; of cured
/// runs where none is finite by itself; the first run where none is finite at all.
const Examination& reference_of(std::span<const Examined> policies);

struct Recommendation {
  std::string name;                      ///< of the policy, before its cure
  families::ComponentChoices choices;    ///< to ask for
  families::ComponentChoices in_effect;  ///< what comes of them
  Verdict verdict = Verdict::safe;
  std::string reason;  ///< one line
};

/// Of the candidates that are safe the one that --preset auto would take, by machine and memory; of those
/// that are close where none is safe; nothing where all overflow.
std::optional<Recommendation> recommend(std::span<const Examined> policies, const Machine& machine);

/// A C++ header with the policies as `recommended::ModelPolicy`, a precast::Mixed. `comment` are lines on
/// where they come from.
std::string policy_header(const families::ComponentChoices& choices, std::span<const std::string> comment);

}  // namespace precast::cli
