// Experiments: what the formats of training do to numbers, shown small enough to be read in a table and a
// plot.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <plots/plot.hpp>

namespace precast::experiments {

using plots::Cell, plots::Line, plots::Place, plots::Plot, plots::Table;

/// A number as a source states it, beside the same number computed here.
struct Stated {
  std::string what;
  std::string number;  ///< as the source writes it: "10.0001", "6e-5"
  double computed;

  /// Whether the computed number, rounded to the digits that the source gives, is the source's: it differs
  /// by at most half a unit of the last digit.
  bool agrees() const;
};

/// The result of `run`, computed by the library's ops and conversions when it is called.
struct Experiment {
  std::string name, title;
  std::string explanation;  ///< two sentences
  Table table;
  Plot plot;
  std::string source;  ///< the document that shows it first
  std::vector<Stated> stated;
};

/// The names of all experiments, in the order in which they are printed.
std::span<const std::string_view> names();

/// Runs an experiment. Throws InputError where there is none of that name, and PathNotCompiled in a build
/// that leaves f32, bf16 or f16 out.
Experiment run(std::string_view name);

}  // namespace precast::experiments
