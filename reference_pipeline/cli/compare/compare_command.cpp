// precast compare: how policies change a picture, and what they cost in time and memory.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <cli/commands.hpp>
#include <cli/compare/compare_options.hpp>
#include <cli/compare/comparison.hpp>
#include <cli/compare/comparison_part.hpp>
#include <cli/compare/report_page.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/given_files.hpp>
#include <cli/options/model_path.hpp>
#include <cli/options/output_files.hpp>
#include <cli/options/picture_options.hpp>
#include <cli/options/policy_options.hpp>
#include <cli/options/run_options.hpp>
#include <cli/options/start_options.hpp>
#include <cli/options/sweep_options.hpp>
#include <cli/picture_settings/parameters_text.hpp>
#include <cli/running/picture_run.hpp>
#include <cli/running/require_watch.hpp>
#include <cli/running/run_report.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>
#include <families/presets.hpp>
#include <families/registry.hpp>
#include <image/picture_file.hpp>
#include <process/seconds_since.hpp>
#include <sampling/sampler_title.hpp>

#include <precast/io/atomic_file.hpp>
#include <precast/io/content_hash.hpp>
#include <precast/io/joined.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

/// A validated comparison.
struct Comparison {
  families::Request request;
  families::ResolvedRequest used;
  families::ModelFiles model;
  families::ChosenDevice device;
  std::vector<PolicyChoice> policies;  ///< those that this process runs
  ComparisonPart part;                 ///< without rows
  PictureFacts picture;
  std::vector<std::string> warnings;
};

/// The files to be written, each checked.
std::vector<std::filesystem::path> checked_files(const CompareOptions& options,
                                                 std::span<const std::string> prompts) {
  if (options.is_part()) {
    if (options.report_option->count() > 0)
      throw UsageError(
          "--report goes with --merge, which has all policies: give --layers to the parts for it");
    if (!options.output.ends_with(".json"))
      throw UsageError("--output: a part is written as JSON: give its file a name that ends with .json");
  } else {
    if (options.to_stdout() && (options.json || options.markdown))
      throw UsageError("standard output holds the sheet alone: name a file for it, or leave the table out");
    check_picture_name(options.output, prompts);
  }
  std::vector<std::filesystem::path> files{options.output};
  if (options.report_option->count() > 0) files.emplace_back(options.report);
  check_names_file("--report", options.report, "the page");
  check_page_name("--report", options.report);
  check_output_files(files);
  return files;
}

/// Removes the presets that the program adds without models of this family or for another device, unless
/// every policy given is such a preset.
void leave_out_presets_without_models(std::vector<PolicyChoice>& policies, const CompareOptions& options) {
  if (std::ranges::none_of(policies, families::added_preset)) return;
  const families::ChosenDevice device = families::choose_device(device_of(options.part, options.run.device));
  const auto pipeline =
      families::open(options.run.files(), families::ComponentChoices::all(policies.front()), *device.backend);
  const auto without_models = [&](const PolicyChoice& choice) {
    return families::added_preset(choice) &&
           !families::has_models(pipeline->family(), *device.backend, choice);
  };
  if (!std::ranges::all_of(policies, without_models)) std::erase_if(policies, without_models);
}

/// Opens the model under each of the policies that are run.
Comparison checked(const CompareOptions& options) {
  set_threads(options.run.threads);
  families::Request request = options.run.request();
  options.start.apply(request);
  if (request.prompts.size() != 1)
    throw UsageError("--prompt is given more than once: compare takes one prompt");
  std::vector<PolicyChoice> policies = listed_policies(options.policies->results());
  if (options.policies->results().empty()) leave_out_presets_without_models(policies, options);
  const std::vector<std::int64_t> places = places_of(options.part, std::ssize(policies), "policies");
  const auto files = checked_files(options, request.prompts);
  std::vector<PolicyChoice> own;
  for (const std::int64_t place : places) own.push_back(policies[static_cast<std::size_t>(place)]);
  families::ModelFiles model = options.run.files();
  check_inputs_stay(files, model);
  options.start.read(request, files);
  const families::ChosenDevice device = families::choose_device(device_of(options.part, options.run.device));
  const auto opened = [&](const PolicyChoice& choice) {
    auto pipeline = families::open(model, families::ComponentChoices::all(choice), *device.backend);
    options.run.resolve_guidance(*pipeline, request);
    require_used(*pipeline, request);
    pipeline->check(request);
    return pipeline;
  };
  const auto pipeline = opened(own.front());
  const families::ResolvedRequest used = pipeline->with_defaults(request);
  std::vector<std::string> warnings = run_warnings(*pipeline, request);
  for (const PolicyChoice& choice : std::span(own).subspan(1)) opened(choice);

  const std::string prompt = request.prompts.front(), name = model_name(model.model, options.run.model);
  PictureFacts picture{prompt, name, policy_text(policies.front())};
  picture.given = given_files(model);
  picture.from_image = !options.start.image.empty();
  if (!options.start.mask.empty()) picture.given.emplace_back("Mask", given_name(options.start.mask));
  if (request.refiner)
    picture.given.emplace_back("Refiner", model_name(*request.refiner, options.start.refiner));
  picture.guidance_is_distilled = pipeline->family().guidance_is_distilled();
  if (used.sampler) picture.sampler = sampling::sampler_title(sampling::sampler_named(*used.sampler));
  const image::SheetSize size = comparison_sheet_size(prompt, policies, used.width, used.height);
  if (!options.is_part()) check_picture_size("--output", options.output, size.width, size.height);
  ComparisonPart part;
  part.facts = {prompt, name, device.name, request.seed, used.width, used.height, used.steps};
  for (const PolicyChoice& choice : policies) part.policies.push_back(policy_text(choice));
  return {
      std::move(request), used, std::move(model), device, std::move(own), std::move(part), std::move(picture),
      std::move(warnings)};
}

/// Called after all checks, so that an error is the only line.
void tell(const CompareOptions& options, const Comparison& comparison) {
  options.run.note_device(comparison.device);
  print_warnings(comparison.warnings);
  if (const auto& image = comparison.request.image)
    note_fit(options.start.image, *image, comparison.used.width, comparison.used.height,
             comparison.request.fit);
}
void warn_of_quality(const CompareOptions& options) {
  const std::array sheet_file{std::filesystem::path(options.output)};
  print_warnings(quality_warnings(options.quality_option, sheet_file));
}

/// The contact sheet's settings text for these policies.
std::string sheet_text(const Comparison& comparison, std::span<const std::string> policies) {
  PictureFacts facts = comparison.picture;
  facts.policies = io::joined(policies, " | ");
  return parameters_text(comparison.used, facts);
}

void write_sheet(const CompareOptions& options, const std::string& prompt, const std::string& parameters,
                 std::span<const Compared> rows) {
  const image::Format format = image::format_of_name(options.output);
  const std::array texts{image::Text{
      "parameters", format == image::Format::png ? parameters : with_quality(parameters, options.quality)}};
  write_output(options.output,
               image::encode_image(format, comparison_sheet(prompt, rows), texts, options.quality));
}

/// Writes the report, and prints the table; the sheet is already written.
void finish(const CompareOptions& options, const ComparisonPart& whole, const std::string& summary) {
  const std::vector<Compared>& rows = whole.rows;
  if (!options.report.empty()) io::write_file(options.report, report_page(whole.facts, rows));
  if (!summary.empty()) notes() << summary << "\n";
  if (options.to_stdout()) {
    std::cerr << comparison_text(rows);
    return;
  }
  if (options.json)
    return print(Json{{"prompt", whole.facts.prompt},
                      {"seed", whole.facts.seed},
                      {"model", whole.facts.model},
                      {"reference", rows.front().name},
                      {"sheet", options.output},
                      {"report", text_or_null(options.report)},
                      {"policies", comparison_json(rows)}});
  print(options.markdown ? comparison_markdown(rows) : comparison_text(rows));
  notes() << "wrote " << io::shown(options.output) << "\n";
  if (!options.report.empty()) notes() << "wrote " << io::shown(options.report) << "\n";
}

void compare_all(const CompareOptions& options) {
  Comparison all = checked(options);
  if (!watch::compiled && !options.report.empty())
    all.warnings.emplace_back(
        "--report is without the largest value of each layer: ops of this build cannot be watched; configure "
        "with -DPRECAST_WATCH=on");
  tell(options, all);
  warn_of_quality(options);
  const std::string& prompt = all.part.facts.prompt;
  const auto start = std::chrono::steady_clock::now();
  all.part.rows = compare_policies(
      all.model, all.request, all.policies, *all.device.backend, watch::compiled && !options.report.empty(),
      [&](std::span<const Compared> rows) {
        // Standard output cannot be rewritten: print only the complete sheet.
        if (options.to_stdout() && rows.size() < all.policies.size()) return;
        write_sheet(options, prompt, sheet_text(all, std::span(all.part.policies).first(rows.size())), rows);
      });
  const double seconds = process::seconds_since(start);
  finish(options, all.part, comparison_summary(all.part.rows, seconds, all.device.is_cuda));
}

/// A hash of the pictures and latents that requests start from; "" if there are none.
std::string inputs_text(const families::Request& request) {
  io::ContentHash hash;
  for (const std::optional<image::Image>* const picture : {&request.image, &request.mask})
    if (*picture) {
      const std::array size{(*picture)->width, (*picture)->height};
      hash.add(std::as_bytes(std::span(size)));
      hash.add(std::as_bytes(std::span((*picture)->rgb)));
    }
  if (request.latents) hash.add(std::as_bytes(request.latents->values()));
  return request.image || request.latents ? io::hash_text(hash.value()) : "";
}

/// Runs the policies of a part that are not yet in its file, or that lack the layers asked for.
void compare_part(CompareOptions& options) {
  if (options.layers) require_watch("--layers");
  if (options.output_option->count() == 0) options.output = "compare.json";
  options.output = file_of(options.part, options.output);
  check_names_file("--output", options.output, "the part");
  Comparison all = checked(options);
  ComparisonPart& part = all.part;
  part.parameters = sheet_text(all, part.policies);
  part.sampler = all.request.sampler.value_or("");
  part.inputs = inputs_text(all.request);
  if (io::is_there(options.output)) {
    ComparisonPart before = read_comparison_part(options.output);
    if (!same_comparison(before, part))
      throw UsageError("--output: " + io::shown(options.output) +
                       " already exists, a part of another comparison: name another file");
    for (Compared& row : before.rows) {
      if (options.layers && row.layers.empty()) continue;  // incomplete
      if (std::erase(all.policies, row.choice) > 0) part.rows.push_back(std::move(row));
    }
  }
  tell(options, all);
  const std::vector<Compared> before = part.rows;
  compare_policies(all.model, all.request, all.policies, *all.device.backend, options.layers,
                   [&](std::span<const Compared> rows) {
                     part.rows = before;
                     part.rows.insert(part.rows.end(), rows.begin(), rows.end());
                     io::write_file(options.output, comparison_part_text(part));
                   });
  notes() << "wrote " << io::shown(options.output) << "\n";
}

void merge(const CompareOptions& options) {
  const std::vector<std::string> names = options.merge->results();
  check_each_file_once(names);
  std::vector<NamedPart> parts;
  parts.reserve(names.size());
  for (const std::string& name : names) parts.push_back({name, read_comparison_part(name)});
  const ComparisonPart whole = merge_parts(parts);
  const std::array prompt{whole.facts.prompt};
  const auto files = checked_files(options, prompt);
  check_inputs_stay(files, std::vector<std::filesystem::path>(names.begin(), names.end()));
  warn_of_quality(options);
  write_sheet(options, whole.facts.prompt, whole.parameters, whole.rows);
  finish(options, whole, "");
}

void compare(CompareOptions& options) {
  check_ranks(options.part);
  if (options.merge->count() > 0) return merge(options);
  if (options.is_part()) return compare_part(options);
  if (options.layers) throw UsageError("--layers goes with --shard: --report alone has them of all policies");
  compare_all(options);
}

}  // namespace

void add_compare_command(CLI::App& app) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand(
      "compare", "One prompt and seed under several policies: a contact sheet and a table");
  add_compare_options(*command, *options);
  command->footer(
      "PSNR and MSE are of the 8-bit pictures against the first policy. A policy whose values do not stay "
      "finite\n"
      "runs a second time, watched, to say which op overflows and what cures it.\n"
      "\n"
      "Examples:\n"
      "  precast compare --prompt \"a small green star on a black background, at the left\"\n"
      "  precast compare --model shapes-sd --prompt \"a large red star on a black background, at the top\"\n"
      "  precast compare --prompt \"a large red ring on a white background, at the right\" --policies "
      "quality,fast,f16,f16+upcast-attention --markdown\n"
      "  precast compare --model ~/sd-1.5-inpainting --prompt \"a hat\" --image cat.png --mask head.png\n"
      "  precast compare --model ~/FLUX.1-schnell --prompt \"a lighthouse\" --width 512 --height 512 --json\n"
      "  mpirun -n 4 precast compare --prompt \"a large red ring on a white background, at the right\" "
      "--threads 1 --shard auto\n"
      "  precast compare --merge compare-1-of-4.json compare-2-of-4.json compare-3-of-4.json "
      "compare-4-of-4.json");
  command->callback([options, command] {
    static constexpr std::string_view of_merging[] = {"--merge",   "--output",   "--report", "--json",
                                                      "--quality", "--markdown", "--quiet"};
    if (options->merge->count() > 0) check_merge_alone(*command, of_merging);
    compare(*options);
  });
}

}  // namespace precast::cli
