// The options of precast bench.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <benchmark/model_grid.hpp>
#include <casting/measure.hpp>

namespace precast::cli {

struct BenchOptions {
  std::string name;  ///< "lm"
  std::optional<std::string> sizes, contexts, warmups, variants, parts;
  std::string json, csv, page;
  std::optional<int> steps, batch, threads;
  casting::Shard shard;
  CLI::Option* policies = nullptr;
  CLI::Option* merge = nullptr;

  /// What `bench lm` measures. Throws UsageError.
  benchmark::ModelGrid model_grid() const;
};

void add_bench_options(CLI::App& command, BenchOptions& options);

}  // namespace precast::cli
