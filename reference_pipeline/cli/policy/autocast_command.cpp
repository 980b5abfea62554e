// precast autocast: compares PyTorch's autocast lists with the op table.
#include <array>
#include <memory>
#include <string>

#include <cli/commands.hpp>
#include <cli/options/arguments.hpp>
#include <cli/policy/autocast_table.hpp>
#include <cli/terminal/output.hpp>

namespace precast::cli {

void add_autocast_command(CLI::App& app) {
  struct Options {
    std::string device = "cuda";
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "autocast", "PyTorch's autocast lists, operator by operator, beside what a policy does");
  command
      ->add_option("--device", options->device,
                   "Whose autocast: cuda or cpu, which has other lists. Nothing runs there")
      ->type_name("cuda|cpu")
      ->capture_default_str();
  command->add_flag("--json", options->json, "Lists, op classes and the flow of dtypes as JSON on stdout");
  command->footer(
      "lower_precision: operands are cast to f16 or bf16. f32: to f32. f32_set_dtype: the result is f32 "
      "where\n"
      "the caller names no dtype. promote: to the widest among them. banned: an error. All other operators\n"
      "run in the dtype that they are given. docs/autocast.md says where a policy differs, and why.\n"
      "\n"
      "Examples:\n"
      "  precast autocast\n"
      "  precast autocast --device cpu --json");
  command->callback([options] {
    static constexpr std::array<std::string_view, 2> devices{"cuda", "cpu"};
    const AutocastDevice device = parse_name("--device", options->device, devices) == "cpu"
                                      ? AutocastDevice::cpu
                                      : AutocastDevice::cuda;
    if (options->json) return print(autocast_json(device));
    print(autocast_text(device));
  });
}

}  // namespace precast::cli
