// Chooses one of the policies that a model was examined under, and writes it as a C++ header.
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

/// The outcome of a policy.
enum class Verdict : std::uint8_t {
  safe,
  close,      ///< finite, but with less headroom than close_headroom
  overflows,  ///< not all finite, or the picture is black and the reference's is not
  too_large,  ///< did not fit into memory, and was not run
};
std::string_view to_string(Verdict verdict);

/// Below this factor another prompt, seed or size may overflow, since only one prompt was
/// run.
inline constexpr double close_headroom = 2;

Verdict verdict_of(const Examination& examination, const Examination& reference);

/// A named policy that was examined, and its treatment if there was one.
struct Examined {
  std::string name;  ///< "memory", "f16+flash"
  const Examination* found = nullptr;
  bool candidate = false;  ///< may be recommended, with its cure if it needs one
  std::optional<Treatment> treatment = std::nullopt;
  const Examination* treated = nullptr;  ///< the treatment's last run

  /// The run by which the policy is judged: the treated one, if there is one.
  const Examination& final_run() const { return treated ? *treated : *found; }
};

/// The finite run of the widest precision, first in the list, against which pictures are compared. If only
/// treated runs are finite, one of those; if none is, the first run.
const Examination& reference_of(std::span<const Examined> policies);

struct Recommendation {
  std::string name;                      ///< of the policy before its treatment
  families::ComponentChoices choices;    ///< to request
  families::ComponentChoices in_effect;  ///< as the pipeline runs them
  Verdict verdict = Verdict::safe;
  std::string reason;  ///< one line
};

/// The safe candidate that --preset auto would choose for the machine and memory; if none is safe, a close
/// one; nothing if all overflow.
std::optional<Recommendation> recommend(std::span<const Examined> policies, const Machine& machine);

/// A C++ header that defines the policies as `recommended::ModelPolicy`, a precast::Mixed. `comment`: lines
/// on how they were found.
std::string policy_header(const families::ComponentChoices& choices, std::span<const std::string> comment);

}  // namespace precast::cli
