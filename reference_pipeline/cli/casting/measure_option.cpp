#include <algorithm>
#include <array>
#include <string_view>

#include <cli/casting/measure_option.hpp>
#include <cli/options/arguments.hpp>

#include <precast/io/joined.hpp>

namespace precast::cli {

namespace {

using casting::named_measures;

std::array<std::string_view, named_measures.size()> names_of_measures() {
  std::array<std::string_view, named_measures.size()> names;
  std::ranges::transform(named_measures, names.begin(), &casting::NamedMeasure::key);
  return names;
}

}  // namespace

CLI::Option* add_measure_option(CLI::App& command, casting::Measure& measure,
                                const std::string& description) {
  return command
      .add_option_function<std::string>(
          "--measure",
          [&measure](const std::string& text) {
            const std::string name = parse_name("--measure", text, names_of_measures());
            measure = std::ranges::find(named_measures, name, &casting::NamedMeasure::key)->measure;
          },
          description)
      ->type_name(io::joined(names_of_measures(), "|"));
}

}  // namespace precast::cli
