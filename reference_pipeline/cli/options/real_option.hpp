// An option whose value is a real number in a range.
#pragma once

#include <string>

#include <CLI/CLI.hpp>
#include <cli/options/arguments.hpp>

namespace precast::cli {

/// Adds an option that parses a finite number in a range (parse_real) into `value`, which must outlive the
/// command.
template <class Number>
CLI::Option* add_real(CLI::App& command, const std::string& name, Number& value, double low, double high,
                      const std::string& description, Ends ends = Ends::both) {
  return command
      .add_option_function<std::string>(
          name, [=, &value](const std::string& text) { value = parse_real(name, text, low, high, ends); },
          description)
      ->type_name("X");
}
template <class Number>
CLI::Option* add_real(CLI::App& command, const std::string& name, Number& value, const families::Range& range,
                      const std::string& description) {
  return add_real(command, name, value, range.least, range.most, description);
}

}  // namespace precast::cli
