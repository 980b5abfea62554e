// Options of precast plan.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>
#include <casting/planner.hpp>
#include <cli/options/model_path.hpp>
#include <cli/options/policy_options.hpp>
#include <families/presets.hpp>

namespace precast::cli {

struct PlanOptions {
  std::string cost, output, samples, policy = usual_policy(families::compiled_presets()), device = "auto";
  std::optional<std::string> model;
  ComponentFiles component_files;
  casting::PlanRequest request;
  bool verify = false, json = false;
};

/// Adds the options, with examples below them in the help.
void add_plan_options(CLI::App& command, PlanOptions& options);

}  // namespace precast::cli
