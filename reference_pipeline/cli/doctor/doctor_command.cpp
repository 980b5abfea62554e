// precast doctor: finds the policies under which a model stays finite, and cures for the others.
#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <cli/commands.hpp>
#include <cli/doctor/doctor_report.hpp>
#include <cli/doctor/examination.hpp>
#include <cli/options/arguments.hpp>
#include <cli/options/given_files.hpp>
#include <cli/options/model_path.hpp>
#include <cli/options/output_files.hpp>
#include <cli/options/picture_options.hpp>
#include <cli/options/policy_options.hpp>
#include <cli/options/policy_table.hpp>
#include <cli/options/run_options.hpp>
#include <cli/options/start_options.hpp>
#include <cli/picture_settings/picture_settings.hpp>
#include <cli/running/run_report.hpp>
#include <cli/terminal/format.hpp>
#include <cli/terminal/notes.hpp>
#include <cli/terminal/output.hpp>
#include <families/presets.hpp>
#include <families/registry.hpp>
#include <process/seconds_since.hpp>

#include <precast/error.hpp>
#include <precast/io/atomic_file.hpp>
#include <precast/io/counted.hpp>
#include <precast/io/message.hpp>
#include <precast/policy/paths.hpp>
#include <precast/policy/visit.hpp>

namespace precast::cli {

namespace {

constexpr const char* usual_prompt = "a large red circle on a blue background, at the left";
constexpr int usual_steps = 4;

struct DoctorOptions {
  RunOptions run;
  StartOptions start;
  CLI::Option* policies = nullptr;
  CLI::Option* output_option = nullptr;
  std::string output;
  bool json = false;
};

/// The policies to run: the named ones, which are all candidates, or every path of this build, of which the
/// presets are candidates.
std::vector<Examined> wanted_policies(const std::vector<std::string>& lists,
                                      std::vector<PolicyChoice>& choices) {
  if (lists.empty())
    for_each_path([&](auto path) { choices.push_back(decltype(path)::choice); });
  else
    choices = listed_policies(lists);
  std::vector<Examined> policies;
  policies.reserve(choices.size());
  for (const PolicyChoice& choice : choices)
    policies.push_back(
        {.name = policy_text(choice),
         .candidate = !families::added_preset(choice) && (!lists.empty() || !preset_of(choice).empty())});
  return policies;
}

/// Runs all policies, then cures those candidates that overflow.
void examine(Examiner& examiner, std::vector<Examined>& policies, const std::vector<PolicyChoice>& choices) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return process::seconds_since(start); };
  for (std::size_t i = 0; i < policies.size(); ++i) {
    notes() << i + 1 << " of " << policies.size() << ": " << policies[i].name;
    if (i > 0)
      notes() << ", about "
              << human_duration(seconds() / static_cast<double>(i) * static_cast<double>(policies.size() - i))
              << " left";
    notes() << "\n";
    policies[i].found = &examiner.examine(families::ComponentChoices::all(choices[i]));
  }
  const Examination& reference = reference_of(policies);
  for (std::size_t i = 0; i < policies.size(); ++i) {
    Examined& policy = policies[i];
    if (!policy.candidate || verdict_of(*policy.found, reference) != Verdict::overflows) continue;
    notes() << policy.name << " overflows: running again with what cures it\n";
    policy.treatment = examiner.treat(families::ComponentChoices::all(choices[i]));
    policy.treated = &examiner.examine(policy.treatment->choices);
  }
}

/// A generate command with the recommended policy and the options examined: all of the run's but --threads.
std::vector<std::string> generate_command(const DoctorOptions& options, const families::Request& request,
                                          const families::ComponentChoices& choices) {
  std::vector<std::string> command{"precast", "generate"};
  const auto add = [&](const std::string& option, const std::string& value) {
    command.insert(command.end(), {option, value});
  };
  if (options.run.model) add("--model", *options.run.model);
  for (const auto& [component, path] : options.run.component_files)
    for (const GivenPart& part : given_parts)
      if (part.component == component) add(std::string(part.option), path);
  const auto add_number = [&](const std::string& option, const std::optional<int>& value) {
    if (value) add(option, std::to_string(*value));
  };
  const auto add_real = [&](const std::string& option, const std::optional<double>& value) {
    if (value) add(option, shortest(*value));
  };
  if (options.run.device != "auto") add("--device", options.run.device);
  const families::Settings& settings = options.run.settings;
  if (settings.seed != 0) add("--seed", std::to_string(settings.seed));
  add_number("--steps", settings.steps);
  add_number("--width", settings.width);
  add_number("--height", settings.height);
  add_real("--guidance", settings.guidance);
  add_real("--cfg-scale", options.run.cfg_scale);
  add_number("--max-sequence-length", settings.max_sequence_length);
  add_number("--t5-padding", settings.padding);
  if (!options.start.image.empty()) add("--image", options.start.image);
  add_real("--strength", options.start.strength);
  if (options.start.fit != image::Fit::stretch) add("--fit", std::string(to_string(options.start.fit)));
  if (!options.start.mask.empty()) add("--mask", options.start.mask);
  if (options.start.refiner) add("--refiner", *options.start.refiner);
  add_real("--refiner-start", options.start.refiner_start);
  if (settings.vae_tiling) command.emplace_back("--vae-tiling");
  if (settings.sampler) add("--sampler", *settings.sampler);
  add_real("--eta", settings.eta);
  add_real("--guidance-rescale", settings.guidance_rescale);
  add_number("--clip-skip", settings.clip_skip);
  add_real("--aesthetic-score", settings.aesthetic_score);
  add_real("--negative-aesthetic-score", settings.negative_aesthetic_score);
  for (std::string& word : policy_arguments(policy_text(choices))) command.push_back(std::move(word));
  if (request.negative) add("--negative", *request.negative);
  add("--prompt", request.prompts.front());
  return command;
}

void write_header(const DoctorOptions& options, const DoctorReport& report, const std::string& command) {
  const std::array comment{
      "The policy that precast doctor recommends for " + report.model + ": " +
          policy_text(report.recommendation->choices) + " (" + report.recommendation->reason + ")",
      "As seen at " + std::to_string(report.width) + "x" + std::to_string(report.height) + ", " +
          io::counted(report.steps, "step") + ", on " + report.device + "; the same on the command line:",
      command};
  io::write_file(options.output, policy_header(report.recommendation->in_effect, comment));
}

/// Ends a run without a recommendation. Throws, unless a preset that the program adds stays finite and no
/// header was asked for.
void end_without_recommendation(const DoctorOptions& options, const DoctorReport& report,
                                const std::vector<PolicyChoice>& choices) {
  const std::string unwritten =
      options.output.empty() ? "" : ", so that " + io::shown(options.output) + " is not written";
  const auto or_untried = [&](std::string_view preset) {
    const PolicyChoice choice = preset_named(preset)->choice.normalised();
    const bool untried = path_compiled(choice) && std::ranges::find(choices, choice) == choices.end();
    return untried ? ", or try --policies " + std::string(preset) : std::string();
  };
  const auto stays_finite = [&](const Examined& one) {
    const Verdict verdict = verdict_of(one.final_run(), reference_of(report.policies));
    return verdict == Verdict::safe || verdict == Verdict::close;
  };
  if (std::ranges::any_of(report.policies, stays_finite)) {
    if (options.output.empty()) return;
    throw InputError(report.model +
                     ": only presets that this program adds stay finite, which are not recommended" +
                     unwritten + ": name one of Precast's policies in --policies");
  }
  if (std::ranges::all_of(report.policies, [](const Examined& one) { return !one.found->too_large.empty(); }))
    throw DoesNotFit(report.model + ": no policy that was tried fits into memory" + unwritten +
                     ": try a smaller --width and --height, or --vae-tiling" + or_untried("memory"));
  throw InputError(report.model + ": no policy that was tried stays finite" + unwritten +
                   ": check the model's files" + or_untried("quality"));
}

void doctor(const DoctorOptions& options) {
  families::Request request = options.run.request(usual_prompt);
  if (request.prompts.size() != 1)
    throw UsageError("--prompt is given more than once: doctor takes one prompt");
  options.start.apply(request);
  std::vector<PolicyChoice> choices;
  std::vector<Examined> policies = wanted_policies(options.policies->results(), choices);
  std::vector<std::filesystem::path> files;
  if (options.output_option->count() > 0) files.emplace_back(options.output);
  check_names_file("--output", options.output, "the header");
  check_output_files(files);
  set_threads(options.run.threads);
  const families::ModelFiles model = options.run.files();
  check_inputs_stay(files, model);
  options.start.read(request, files);
  const families::ChosenDevice device = families::choose_device(options.run.device);
  const auto pipeline =
      families::open(model, families::ComponentChoices::all(choices.front()), *device.backend);
  options.run.resolve_guidance(*pipeline, request);
  require_used(*pipeline, request);
  if (!request.steps) request.steps = std::min(usual_steps, pipeline->with_defaults(request).steps);
  const families::ResolvedRequest used = pipeline->with_defaults(request);
  try {
    pipeline->check(request);
  } catch (const OutOfMemory&) {
    // The error is this policy's alone: the table reports it.
  }
  DoctorReport report;
  report.warnings = run_warnings(*pipeline, request);
  options.run.note_device(device);
  print_warnings(report.warnings);
  if (request.image) note_fit(options.start.image, *request.image, used.width, used.height, request.fit);
  Examiner examiner(model, request, *device.backend);
  examine(examiner, policies, choices);

  report.model = model_name(model.model, options.run.model);
  report.prompt = request.prompts.front();
  report.device = device.name;
  report.seed = request.seed;
  report.width = used.width;
  report.height = used.height;
  report.steps = used.steps;
  report.policies = policies;
  report.recommendation = recommend(policies, machine_of(device));
  if (report.recommendation)
    report.command = generate_command(options, request, report.recommendation->choices);
  if (report.recommendation && !options.output.empty()) {
    report.header = options.output;
    write_header(options, report, shell_line(report.command));
  }
  if (options.json)
    print(doctor_json(report));
  else
    print(doctor_text(report));
  if (!report.recommendation) return end_without_recommendation(options, report, choices);
  if (!report.header.empty()) notes() << "wrote " << io::shown(report.header) << "\n";
}

}  // namespace

void add_doctor_command(CLI::App& app) {
  const auto options = std::make_shared<DoctorOptions>();
  CLI::App* command =
      app.add_subcommand("doctor", "Under which policies a model stays finite, and what cures the others");
  add_run_options(*command, options->run);
  add_image_options(*command, options->start);
  add_refiner_options(*command, options->start);
  options->run.prompts->description(std::string("What to paint; default: \"") + usual_prompt + "\"")
      ->type_name("TEXT");
  command->get_option("--steps")->description("Denoising steps; default: the model's, at most " +
                                              std::to_string(usual_steps));
  // Not bound to a variable, as with --prompt.
  options->policies =
      command
          ->add_option(
              "--policies",
              "Policies to run, comma-separated: presets and precisions, with\n"
              "+upcast-attention, +upcast-matmul, +upcast-conv, +flash, +no-flash. Default: every path\n"
              "of this build, of which the presets may be recommended")
          ->type_name(policy_names() + ",...")
          ->take_all();
  options->output_option =
      command
          ->add_option("--output,-o", options->output,
                       "C++ header to write: what is recommended, as recommended::ModelPolicy")
          ->type_name("FILE");
  command->add_flag("--json", options->json, "All of it as JSON on stdout, with the extremes of every op");
  command->footer(
      "Each policy runs once, watched op by op, and once more unwatched where all stayed finite, for time "
      "and\n"
      "memory. headroom: how much larger every result, and every score that attention keeps inside, could be "
      "before\n"
      "one leaves the format it is stored in. A preset that overflows is run again with the options that "
      "its\n"
      "trace names, until it is finite. One prompt is seen, not all: below 2 x headroom a "
      "policy is\n"
      "called close. Exits with 1 where no policy is finite.\n"
      "\n"
      "Examples:\n"
      "  precast doctor\n"
      "  precast doctor --model ~/sd-1.5 --prompt \"a cat\" --output policy.hpp\n"
      "  precast doctor --model ~/sdxl --refiner ~/sdxl-refiner --prompt \"a cat\"\n"
      "  precast doctor --model ~/sd-1.5-inpainting --prompt \"a hat\" --image cat.png --mask head.png\n"
      "  precast doctor --model ~/FLUX.1-dev --policies fast,memory --width 512 --height 512 --json");
  command->callback([options] { doctor(*options); });
}

}  // namespace precast::cli
