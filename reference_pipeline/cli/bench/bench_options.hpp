// The options of precast bench.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <cli/options/sweep_options.hpp>
#include <timing/attention_grid.hpp>
#include <timing/model_grid.hpp>

namespace precast::cli {

struct BenchOptions {
  std::string name;  ///< "lm" or "attention"
  std::optional<std::string> sizes, contexts, warmups, variants, parts, head_widths, kinds;
  std::string json, csv, page, device = "auto";
  std::optional<int> steps, batch, threads;
  SweepPart part;
  CLI::Option* policies = nullptr;
  CLI::Option* merge = nullptr;

  /// The grid of `bench lm`. Throws UsageError.
  timing::ModelGrid model_grid() const;
  /// The grid of `bench attention`. Throws UsageError.
  timing::AttentionGrid attention_grid() const;
  /// Throws UsageError if --merge names a file twice or is combined with an option for measuring.
  void check_merge(const CLI::App& command) const;

 private:
  std::vector<std::string> given_policies(const std::vector<std::string>& usual) const;
};

void add_bench_options(CLI::App& command, BenchOptions& options);

}  // namespace precast::cli
