// precast compare: what a policy does to a picture, and what it costs.
#include <array>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <cli/arguments.hpp>
#include <cli/commands.hpp>
#include <cli/comparison.hpp>
#include <cli/given_files.hpp>
#include <cli/model_path.hpp>
#include <cli/notes.hpp>
#include <cli/output.hpp>
#include <cli/output_files.hpp>
#include <cli/parameters_text.hpp>
#include <cli/picture_options.hpp>
#include <cli/picture_run.hpp>
#include <cli/policy_options.hpp>
#include <cli/report_page.hpp>
#include <cli/run_options.hpp>
#include <cli/run_report.hpp>
#include <families/registry.hpp>
#include <image/picture_file.hpp>

#include <precast/io/atomic_file.hpp>
#include <precast/io/message.hpp>

namespace precast::cli {

namespace {

struct CompareOptions {
  RunOptions run;
  CLI::Option* policies = nullptr;
  CLI::Option* report_option = nullptr;
  std::string output = "compare.png", report;
  CLI::Option* quality_option = nullptr;
  int quality = image::usual_quality;
  bool markdown = false, json = false;
};

void compare(const CompareOptions& options) {
  families::Request request = options.run.request();
  if (request.prompts.size() != 1)
    throw UsageError("--prompt is given more than once: compare takes one prompt");
  const std::vector<PolicyChoice> policies = listed_policies(options.policies->results());
  const bool to_stdout = is_standard_output(options.output);
  if (to_stdout && (options.json || options.markdown))
    throw UsageError("standard output holds the sheet alone: name a file for it, or leave the table out");
  check_picture_name(options.output, request.prompts);
  std::vector<std::filesystem::path> files{options.output};
  if (options.report_option->count() > 0) files.emplace_back(options.report);
  if (is_standard_output(options.report)) throw UsageError("--report is '-': name a file for it");
  check_output_files(files);
  options.run.set_threads();
  const families::ModelFiles model = options.run.files();
  check_inputs_stay(files, model);
  const families::ChosenDevice device = families::choose_device(options.run.device);
  const std::string prompt = request.prompts.front(), name = model_name(model.model, options.run.model);
  families::Request used;
  std::vector<std::string> warnings;
  bool guidance_is_distilled = false;
  for (const PolicyChoice& choice : policies) {
    const auto pipeline = families::open(model, families::ComponentChoices::all(choice), *device.backend);
    options.run.settle_guidance(*pipeline, request);
    require_used(*pipeline, request);
    pipeline->check(request);
    if (&choice != &policies.front()) continue;
    used = pipeline->with_defaults(request);
    warnings = run_warnings(*pipeline, request);
    guidance_is_distilled = pipeline->family().guidance_is_distilled();
  }
  const image::SheetSize size = comparison_sheet_size(prompt, policies, *used.width, *used.height);
  check_picture_size("--output", options.output, size.width, size.height);
  options.run.tell_device(device);
  tell_warnings(warnings);
  const std::array sheet_file{std::filesystem::path(options.output)};
  tell_warnings(quality_warnings(options.quality_option, sheet_file));
  const auto write_sheet = [&](std::span<const Compared> rows) {
    if (to_stdout && rows.size() < policies.size()) return;  // what is written there cannot be replaced
    PictureFacts facts{prompt, name, rows.front().name};
    facts.guidance_is_distilled = guidance_is_distilled;
    facts.given = given_files(model);
    for (const Compared& row : rows) facts.policies += (&row == &rows.front() ? "" : " | ") + row.name;
    if (image::format_of_name(options.output) != image::Format::png) facts.quality = options.quality;
    const std::array texts{image::Text{"parameters", parameters_text(used, facts)}};
    write_output(options.output, image::encode_image(image::format_of_name(options.output),
                                                     comparison_sheet(prompt, rows), texts, options.quality));
  };
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Compared> rows =
      compare_policies(model, request, policies, *device.backend, !options.report.empty(), write_sheet);
  if (!options.report.empty()) {
    const image::Image& picture = rows.front().picture;
    io::write_file(options.report, report_page({prompt, name, device.name, request.seed, picture.width,
                                                picture.height, *used.steps},
                                               rows));
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  notes() << comparison_summary(rows, seconds, device.is_cuda) << "\n";
  if (to_stdout) {
    std::cerr << comparison_text(rows);
    return;
  }
  if (options.json)
    return print(Json{{"prompt", prompt},
                      {"seed", request.seed},
                      {"model", name},
                      {"reference", rows.front().name},
                      {"sheet", options.output},
                      {"report", options.report.empty() ? Json() : Json(options.report)},
                      {"policies", comparison_json(rows)}});
  print(options.markdown ? comparison_markdown(rows) : comparison_text(rows));
  notes() << "wrote " << io::shown(options.output) << "\n";
  if (!options.report.empty()) notes() << "wrote " << io::shown(options.report) << "\n";
}

}  // namespace

void add_compare_command(CLI::App& app) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App* command = app.add_subcommand(
      "compare", "One prompt and seed under several policies: a contact sheet and a table");
  add_run_options(*command, options->run);
  options->run.prompts->description("What to paint; - for a line of stdin")->type_name("TEXT");
  // Bound to no variable, as --prompt is.
  options->policies =
      command
          ->add_option("--policies",
                       "Policies, with commas between: presets and precisions, with +upcast-attention,\n"
                       "+upcast-matmul, +upcast-conv, +flash, +no-flash; the first is the reference. Default: all presets")
          ->type_name(policy_names() + ",...")
          ->take_all();
  command
      ->add_option(
          "--output,-o", options->output,
          "Contact sheet to write, anew after each policy: .png, .jpg or .webp; - for standard output, as "
          "PNG")
      ->type_name("FILE")
      ->capture_default_str();
  options->report_option =
      command
          ->add_option("--report", options->report,
                       "One page (HTML) of it all: pictures with a slider and their differences, the\n"
                       "table, every dtype, the largest value of each layer, from a second, watched run")
          ->type_name("FILE");
  options->quality_option = add_quality_option(*command, options->quality);
  CLI::Option* markdown = command->add_flag("--markdown", options->markdown, "The table as Markdown");
  command->add_flag("--json", options->json, "The table as JSON on stdout")->excludes(markdown);
  command->footer(
      "PSNR and MSE are of the 8-bit pictures against the first policy. A policy whose values do not stay "
      "finite\n"
      "runs a second time, watched, to say which op overflows and what cures it.\n"
      "\n"
      "Examples:\n"
      "  precast compare --prompt \"a small green star on a black background\"\n"
      "  precast compare --model shapes-sd --prompt \"a large red star on a black background, at the top\"\n"
      "  precast compare --prompt \"a ring\" --policies quality,fast,f16,f16+upcast-attention --markdown\n"
      "  precast compare --model ~/FLUX.1-schnell --prompt \"a lighthouse\" --width 512 --height 512 --json");
  command->callback([options] { compare(*options); });
}

}  // namespace precast::cli
