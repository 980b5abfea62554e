// Formats the results of an examination.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <cli/doctor/doctor_report.hpp>
#include <cli/options/policy_options.hpp>
#include <cli/picture_settings/picture_settings.hpp>
#include <cli/running/cure_option.hpp>
#include <cli/running/trace_file.hpp>
#include <cli/terminal/format.hpp>
#include <families/presets.hpp>
#include <image/metrics.hpp>

#include <precast/error.hpp>
#include <precast/io/joined.hpp>
#include <precast/io/number_text.hpp>
#include <precast/watch/trace.hpp>

namespace precast::cli {

namespace {

/// "3.1 x"; "–" if unknown.
std::string times(double factor) {
  if (!std::isfinite(factor)) return "–";
  return (factor < 100   ? io::significant(factor, 2)
          : factor < 1e6 ? io::fixed(factor, 0)
                         : io::significant(factor, 1)) +
         " x";
}

std::string percent(std::optional<double> share) { return share ? io::fixed(100 * *share, 2) + " %" : "–"; }

/// The share of the non-zero values that are below a precision's smallest normal number; nothing if none
/// was counted.
std::optional<double> share_below_normal(const watch::Magnitudes& magnitudes, Precision precision) {
  if (magnitudes.values() == 0) return std::nullopt;
  return static_cast<double>(magnitudes.below_power(format_of(precision).min_exponent())) /
         static_cast<double>(magnitudes.values());
}

/// The PSNR of a run's picture against the reference's; nothing if one of them is missing.
std::optional<double> psnr_of(const Examination& run, const Examination& reference) {
  if (&run == &reference || !reference.finite || run.picture.rgb.empty()) return std::nullopt;
  return image::difference(reference.picture, run.picture).psnr;
}

/// The PSNR as a table cell; "–" if there is none.
std::string psnr_cell(std::optional<double> psnr) { return psnr ? psnr_text(*psnr) : "–"; }

std::vector<std::string> row(const std::string& name, const Examination& run, const Examination& reference) {
  const bool ran = run.finite;
  return {name,
          std::string(to_string(verdict_of(run, reference))),
          ran ? times(run.headroom()) : "–",
          psnr_cell(psnr_of(run, reference)),
          ran ? io::fixed(run.seconds, 3) : "–",
          ran ? io::fixed(1000 * run.step_seconds, 1) : "–",
          ran ? in_bytes(run.peak_bytes) : "–"};
}

/// Why a run did not fit into memory or where it first was not finite, in one line; "" if neither.
std::string problem_of(const Examination& run) {
  if (!run.too_large.empty()) return run.too_large;
  if (run.first_non_finite) return diagnosis(*run.first_non_finite);
  if (!run.finite) return "the picture is not finite, but every op gave finite values";
  return {};
}

std::string policies_text(const DoctorReport& report, const Examination& reference) {
  std::vector<std::vector<std::string>> rows{
      {"policy", "verdict", "headroom", "PSNR (dB)", "seconds", "ms a step", "peak memory"}};
  for (const Examined& policy : report.policies) {
    rows.push_back(row(policy.name, *policy.found, reference));
    if (policy.treated && policy.treated != policy.found)
      rows.push_back(
          row("  with " + io::joined(policy.treatment->changes, ", "), *policy.treated, reference));
  }
  return aligned(rows, "llr");
}

/// The problems of policies, one a line. Policies with the same failing op and the same cure share a line,
/// with the first one's message.
std::string problems_text(const DoctorReport& report) {
  std::vector<std::pair<std::string, std::string>> lines;  // the policies' names, what is wrong
  std::map<std::string, std::size_t> known;
  for (const Examined& policy : report.policies) {
    const std::string why = problem_of(*policy.found);
    if (why.empty()) continue;
    const auto& found = policy.found->first_non_finite;
    const std::string key =
        found ? found->record.path + ' ' + option_of(watch::cure_for(*found), found->record.path) : why;
    const auto [place, is_new] = known.try_emplace(key, lines.size());
    if (is_new)
      lines.emplace_back(policy.name, why);
    else
      lines[place->second].first += ", " + policy.name;
  }
  std::string text;
  for (const auto& [names, why] : lines) text += names + ": " + why + "\n";
  return text;
}

/// One line for each attention whose scores limit the headroom of its component, if that headroom is less
/// than close_headroom.
std::string close_scores_text(const DoctorReport& report) {
  std::vector<std::pair<std::string, std::string>> lines;  // the policies' names, what is near
  for (const Examined& policy : report.policies)
    for (const ComponentExtremes& component : policy.found->components) {
      if (!policy.found->finite || component.inside_headroom > component.headroom ||
          component.inside_headroom >= close_headroom)
        continue;
      const std::string near = "scores inside of " + component.inside_path + " reach " +
                               watch::digits(component.largest_inside) + ", and what keeps them ends at " +
                               times(component.inside_headroom) +
                               " that: " + option_of(watch::Cure::upcast_attention) +
                               " keeps them in f32, and so does " + option_of(watch::Cure::flash);
      const auto known = std::ranges::find(lines, near, &std::pair<std::string, std::string>::second);
      if (known == lines.end())
        lines.emplace_back(policy.name, near);
      else
        known->first += ", " + policy.name;
    }
  std::string text;
  for (const auto& [names, near] : lines) text += names + ": " + near + "\n";
  return text;
}

std::string components_text(const Examination& reference) {
  std::vector<std::vector<std::string>> rows{{"component", "largest value", "at", "largest score"}};
  for (const Precision precision : all_precisions) {
    if (precision == precision_of<f32>) continue;
    const std::string name(to_string(precision));
    rows.front().insert(rows.front().end(), {name + " headroom", "below " + name + "'s normals"});
  }
  for (const ComponentExtremes& component : reference.components) {
    rows.push_back({component.component, watch::digits(component.largest), component.path,
                    component.largest_inside > 0 ? watch::digits(component.largest_inside) : "–"});
    for (const Precision precision : all_precisions) {
      if (precision == precision_of<f32>) continue;
      rows.back().push_back(component.non_finite ? "–"
                                                 : times(format_of(precision).max() / component.largest));
      rows.back().push_back(percent(share_below_normal(component.magnitudes, precision)));
    }
  }
  return aligned(rows, "lrlrr");
}

Json run_json(const Examination& run, const Examination& reference) {
  Json components = Json::object();
  for (const ComponentExtremes& component : run.components) {
    Json below = Json::object();
    for (const Precision precision : all_precisions) {
      const auto share = share_below_normal(component.magnitudes, precision);
      below[std::string(to_string(precision))] = value_or_null(share);
    }
    components[component.component] = {
        {"largest", component.largest},
        {"at", component.path},
        {"largest_score", component.largest_inside > 0 ? Json(component.largest_inside) : Json()},
        {"score_at", text_or_null(component.inside_path)},
        {"headroom", json_number(component.headroom)},
        {"below_normal", below},
        {"non_finite", component.non_finite}};
  }
  Json ops = Json::array();
  for (const LayerPeak& layer : run.layers)
    ops.push_back({{"path", layer.path},
                   {"function", layer.function},
                   {"max_abs", layer.max_abs},
                   {"non_finite", layer.non_finite}});
  const std::string why = problem_of(run);
  return {{"policy", policy_text(run.choices)},
          {"verdict", to_string(verdict_of(run, reference))},
          {"headroom", run.finite ? json_number(run.headroom()) : Json()},
          {"psnr", value_or_null(psnr_of(run, reference))},
          {"seconds", run.finite ? Json(run.seconds) : Json()},
          {"step_seconds", run.finite ? Json(run.step_seconds) : Json()},
          {"peak_bytes", run.finite ? Json(run.peak_bytes) : Json()},
          {"needed_bytes", run.needed_bytes},
          {"black", run.black},
          {"trouble", text_or_null(why)},
          {"first_non_finite", run.first_non_finite ? non_finite_json(*run.first_non_finite) : Json()},
          {"components", components},
          {"ops", ops}};
}

}  // namespace

std::string doctor_text(const DoctorReport& report) {
  const Examination& reference = reference_of(report.policies);
  std::string text = policies_text(report, reference) + "\n";
  text += problems_text(report) + close_scores_text(report);
  for (const Examined& policy : report.policies) {
    if (!policy.treatment || policy.treated == policy.found) continue;
    const std::string changes = io::joined(policy.treatment->changes, ", ");
    text += policy.name + ": " +
            (policy.treatment->cured ? "cured by " + changes
                                     : "not cured by " + changes + ": " + problem_of(*policy.treated)) +
            "\n";
  }
  if (text.back() != '\n' || text[text.size() - 2] != '\n') text += "\n";
  text += components_text(reference);
  if (!report.recommendation) return text;
  const Recommendation& recommended = *report.recommendation;
  return text + "\nrecommended: " + policy_text(recommended.choices) + " (" + recommended.reason + ")" +
         (recommended.verdict == Verdict::close ? ", though it is close to its limit" : "") + "\n  " +
         shell_line(report.command) + "\n";
}

Json doctor_json(const DoctorReport& report) {
  const Examination& reference = reference_of(report.policies);
  Json policies = Json::array();
  for (const Examined& policy : report.policies) {
    Json one{{"name", policy.name}};
    one.update(run_json(*policy.found, reference));
    one["treatment"] = Json();
    if (policy.treatment && policy.treated != policy.found)
      one["treatment"] = {{"changes", policy.treatment->changes},
                          {"cured", policy.treatment->cured},
                          {"run", run_json(*policy.treated, reference)}};
    policies.push_back(std::move(one));
  }
  Json recommended;
  if (report.recommendation) {
    const families::ComponentChoices& choices = report.recommendation->in_effect;
    recommended = {{"name", policy_text(report.recommendation->choices)},
                   {"verdict", to_string(report.recommendation->verdict)},
                   {"reason", report.recommendation->reason},
                   {"policies",
                    {{"denoiser", families::spelling(choices.denoiser)},
                     {"text_encoder", families::spelling(choices.text_encoder)},
                     {"vae", families::spelling(choices.vae)}}},
                   {"command", report.command},
                   {"header", text_or_null(report.header)}};
  }
  return {{"model", report.model},      {"prompt", report.prompt},
          {"device", report.device},    {"seed", report.seed},
          {"width", report.width},      {"height", report.height},
          {"steps", report.steps},      {"reference", policy_text(reference.choices)},
          {"policies", policies},       {"recommended", recommended},
          {"warnings", report.warnings}};
}

}  // namespace precast::cli
