// Adds the options that generate and compare share.
#include <iostream>

#include <cli/arguments.hpp>
#include <cli/run_options.hpp>
#include <families/registry.hpp>

#include <precast/host/parallel.hpp>

namespace precast::cli {

families::Request RunOptions::request() const {
  families::Request request;
  request.prompts = prompts->results();
  request.seed = seed;
  request.steps = steps;
  request.guidance = guidance;
  request.max_sequence_length = max_sequence_length;
  request.width = width;
  request.height = height;
  return request;
}

void RunOptions::tell_device(const families::ChosenDevice& chosen) const {
  if (device == "auto" && !chosen.reason.empty())
    std::cerr << "device auto: " << chosen.name << " (" << chosen.reason << ")\n";
}

void RunOptions::set_threads() const {
  if (threads) host::set_threads(*threads);
}

CLI::Option* add_integer(CLI::App& command, const std::string& name, std::optional<int>& value, int low,
                         int high, const std::string& description) {
  return command
      .add_option_function<std::string>(
          name,
          [=, &value](const std::string& text) {
            value = static_cast<int>(parse_integer(name, text, low, high));
          },
          description)
      ->type_name("N");
}

void add_run_options(CLI::App& command, RunOptions& options) {
  // Bound to no variable: CLI11 would take "[a, b]" and "{}" for lists of its own.
  options.prompts = command.add_option("--prompt", "What to paint; several texts for several pictures")
                        ->type_name("TEXT...")
                        ->take_all()
                        ->required();
  command
      .add_option("--model", options.model, "Model folder as diffusers saves it; default: the embedded model")
      ->type_name("DIR");
  command
      .add_option("--device", options.device,
                  "auto, cpu, cuda or cuda:N; auto takes CUDA where there is a device")
      ->type_name("DEVICE")
      ->capture_default_str();
  command
      .add_option_function<std::string>(
          "--seed", [&](const std::string& text) { options.seed = parse_seed("--seed", text); },
          "Draws what torch.Generator(\"cpu\").manual_seed(N) draws; default 0")
      ->type_name("N");
  add_integer(command, "--steps", options.steps, 1, 10000, "Denoising steps; default: the model's");
  command
      .add_option_function<std::string>(
          "--guidance",
          [&](const std::string& text) { options.guidance = parse_real("--guidance", text, 0, 1000); },
          "How closely to follow the prompt; default: the model's, else 3.5")
      ->type_name("G");
  add_integer(command, "--width", options.width, 1, 16384, "Pixels; default: the model's, else 1024")
      ->type_name("W");
  add_integer(command, "--height", options.height, 1, 16384, "Pixels; default: the model's, else 1024")
      ->type_name("H");
  add_integer(command, "--max-sequence-length", options.max_sequence_length, 1, 1 << 20,
              "Tokens that T5 sees; default: 512, or its tokenizer's limit if smaller");
  add_integer(command, "--threads", options.threads, 1, 1024,
              "CPU threads; the picture does not depend on them");
}

AutoChoice chosen_by_auto(const std::filesystem::path& model, const families::Request& request,
                          const families::ChosenDevice& device) {
  const auto candidates = compiled_candidates([&](const PolicyChoice& choice) {
    return families::open(model, families::ComponentChoices::all(choice), *device.backend)
        ->estimate(request)
        .needed();
  });
  return choose_preset(machine_of(device), candidates);
}

}  // namespace precast::cli
