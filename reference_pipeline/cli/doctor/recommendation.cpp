// Chooses among examined policies.
#include <algorithm>
#include <array>

#include <cli/doctor/recommendation.hpp>
#include <families/presets.hpp>

#include <precast/io/message.hpp>

namespace precast::cli {

std::string_view to_string(Verdict verdict) {
  constexpr std::array<std::string_view, 4> names{"safe", "close", "overflows", "too large"};
  return names[static_cast<std::size_t>(verdict)];
}

Verdict verdict_of(const Examination& examination, const Examination& reference) {
  if (!examination.too_large.empty()) return Verdict::too_large;
  if (!examination.finite || (examination.black && !reference.black)) return Verdict::overflows;
  return examination.headroom() < close_headroom ? Verdict::close : Verdict::safe;
}

const Examination& reference_of(std::span<const Examined> policies) {
  const Examination* best = nullptr;
  const auto consider = [&](const Examination* run) {
    const auto width = [](const Examination& of) { return families::bytes_per_value(of.choices.denoiser); };
    if (run && run->finite && (!best || width(*run) > width(*best))) best = run;
  };
  for (const Examined& policy : policies) consider(policy.found);
  if (!best)
    for (const Examined& policy : policies) consider(policy.treated);
  return best ? *best : *policies.front().found;
}

std::optional<Recommendation> recommend(std::span<const Examined> policies, const Machine& machine) {
  const Examination& reference = reference_of(policies);
  for (const Verdict wanted : {Verdict::safe, Verdict::close}) {
    std::vector<Candidate> candidates;
    for (const Examined& policy : policies) {
      const Examination& run = policy.final_run();
      if (policy.candidate && verdict_of(run, reference) == wanted)
        candidates.push_back({{policy.name, run.choices.denoiser, {}}, run.needed_bytes});
    }
    if (candidates.empty()) continue;
    const AutoChoice chosen = choose_preset(machine, candidates);
    const auto policy = std::ranges::find(policies, chosen.preset.name, &Examined::name);
    Recommendation recommendation{policy->name, policy->final_run().choices, policy->final_run().in_effect,
                                  wanted, chosen.reason};
    if (policies.size() == 1)
      recommendation.reason = policy->treated ? "the cure of the one policy that was asked for"
                                              : "the one policy that was asked for";
    else if (candidates.size() == 1)
      recommendation.reason =
          "no other was " + std::string(wanted == Verdict::safe ? "safe" : "finite") + " here";
    return recommendation;
  }
  return std::nullopt;
}

std::string policy_header(const families::ComponentChoices& choices, std::span<const std::string> comment) {
  std::string text;
  for (const std::string& line : comment) {
    text += "// " + io::printable(line, 4096);
    text += text.ends_with('\\') ? " .\n" : "\n";  // a final backslash would continue the comment
  }
  return text + "#pragma once\n\n#include <precast/policy/presets.hpp>\n\nnamespace recommended {\n\n" +
         "using namespace precast;\n\n" + "using ModelPolicy =\n    Mixed<Transformer<" +
         families::spelling(choices.denoiser) + ">,\n          TextEncoder<" +
         families::spelling(choices.text_encoder) + ">,\n          Vae<" + families::spelling(choices.vae) +
         ">>;\n\n}  // namespace recommended\n";
}

}  // namespace precast::cli
