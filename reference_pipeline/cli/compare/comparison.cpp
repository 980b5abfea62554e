// Runs policies one after another and arranges their pictures side by side.
#include <algorithm>
#include <cmath>

#include <cli/compare/comparison.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/policy_options.hpp>
#include <cli/running/picture_run.hpp>
#include <cli/terminal/format.hpp>
#include <cli/terminal/interrupt.hpp>
#include <cli/terminal/notes.hpp>
#include <families/presets.hpp>
#include <families/registry.hpp>
#include <image/contact_sheet.hpp>
#include <process/memory.hpp>

#include <precast/error.hpp>
#include <precast/io/number_text.hpp>
#include <precast/policy/paths.hpp>

namespace precast::cli {

namespace {

std::vector<std::vector<std::string>> cells(std::span<const Compared> rows) {
  std::vector<std::vector<std::string>> table{
      {"policy", "PSNR (dB)", "MSE", "seconds", "peak memory", "non-finite"}};
  for (const Compared& row : rows) {
    const bool reference = &row == &rows.front();
    table.push_back({row.name, reference ? "–" : psnr_text(row.psnr), reference ? "–" : io::fixed(row.mse, 3),
                     io::fixed(row.seconds, 2), in_bytes(row.peak_bytes), with_commas(row.non_finite)});
  }
  return table;
}

Compared run_policy(const families::ModelFiles& model, const families::Request& request,
                    const PolicyChoice& choice, const families::Backend& backend, bool layers) {
  Compared row;
  row.name = policy_text(choice);
  row.choice = choice;
  notes() << row.name << "\n";
  const auto pipeline = families::open(model, families::ComponentChoices::all(choice), backend);
  PictureRun run = run_pipeline(*pipeline, request);
  row.picture = std::move(run.result.images.front());
  row.seconds = run.seconds;
  row.peak_bytes = run.result.peak_bytes;
  row.non_finite = run.non_finite();
  row.advice = run.advice();
  if (watch::compiled && !row.advice.empty()) {
    notes() << row.name << ": not finite, running again with the watch on\n";
    row.advice = run_pipeline(*pipeline, request, std::make_unique<TraceFile>()).advice();
  }
  if (layers) {
    notes() << row.name << ": running again, watched, for the largest value of each layer\n";
    LayerPeaks peaks;
    const watch::Watching watching(peaks);
    run_pipeline(*pipeline, request);
    row.layers = peaks.layers();
  }
  return row;
}

}  // namespace

std::vector<Compared> compare_policies(const families::ModelFiles& model, const families::Request& request,
                                       std::span<const PolicyChoice> policies,
                                       const families::Backend& backend, bool layers,
                                       const std::function<void(std::span<const Compared>)>& write) {
  std::vector<Compared> rows;
  const auto left_behind = [&] {
    return std::to_string(rows.size()) + " of " + std::to_string(policies.size()) + " policies done";
  };
  for (const PolicyChoice& choice : policies) {
    try {
      rows.push_back(run_policy(model, request, choice, backend, layers));
    } catch (const Interrupted&) {
      if (!rows.empty()) throw_if_interrupted(left_behind());
      throw;
    }
    set_distance(rows.front(), rows.back());
    write(rows);
    if (rows.size() < policies.size()) throw_if_interrupted(left_behind());
  }
  return rows;
}

std::string comparison_text(std::span<const Compared> rows) {
  std::string text = aligned(cells(rows), "lr");
  for (const Compared& row : rows)
    if (!row.advice.empty()) text += row.name + ": " + row.advice + "\n";
  return text;
}

std::string comparison_markdown(std::span<const Compared> rows) {
  std::string text;
  const auto table = cells(rows);
  for (std::size_t i = 0; i < table.size(); ++i) {
    for (const std::string& cell : table[i]) text += "| " + cell + " ";
    text += "|\n";
    if (i == 0) text += "|:--|--:|--:|--:|--:|--:|\n";
  }
  return text;
}

Json comparison_json(std::span<const Compared> rows) {
  Json all = Json::array();
  for (const Compared& row : rows)
    all.push_back({{"name", row.name},
                   {"policy", families::spelling(row.choice)},
                   {"psnr", &row == &rows.front() ? Json() : json_number(row.psnr)},
                   {"mse", row.mse},
                   {"seconds", row.seconds},
                   {"peak_bytes", row.peak_bytes},
                   {"non_finite", row.non_finite},
                   {"advice", text_or_null(row.advice)}});
  return all;
}

std::string comparison_summary(std::span<const Compared> rows, double seconds, bool on_device) {
  std::int64_t peak = 0;
  if (on_device)
    for (const Compared& row : rows) peak = std::max(peak, row.peak_bytes);
  else
    peak = process::peak_resident_memory();
  return human_duration(seconds) + " in all" +
         (peak > 0 ? ", peak memory " + in_bytes(peak) + (on_device ? " on the device" : "") : "");
}

image::SheetSize comparison_sheet_size(const std::string& prompt, std::span<const PolicyChoice> policies,
                                       int width, int height) {
  std::vector<std::vector<std::string>> captions;
  for (const PolicyChoice& choice : policies)  // with the longest numbers possible
    captions.push_back({policy_text(choice), "reference", "9999.9 s, 1023.9 MiB"});
  try {
    return image::contact_sheet_size(prompt, width, height, captions);
  } catch (const InputError& too_large) {
    throw UsageError(too_large.what());
  }
}

image::Image comparison_sheet(const std::string& prompt, std::span<const Compared> rows) {
  std::vector<image::SheetCell> sheet;
  for (const Compared& row : rows) {
    std::vector<std::string> captions{row.name};
    if (&row == &rows.front())
      captions.emplace_back("reference");
    else
      captions.push_back(std::isinf(row.psnr) ? "equal" : io::fixed(row.psnr, 1) + " dB");
    captions.push_back(io::fixed(row.seconds, 1) + " s, " + in_bytes(row.peak_bytes));
    sheet.push_back({row.picture, std::move(captions)});
  }
  return image::contact_sheet(prompt, sheet);
}

}  // namespace precast::cli
