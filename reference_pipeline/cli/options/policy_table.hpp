// The op table of a policy chosen at run time, as dtype names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cli/terminal/output.hpp>
#include <families/presets.hpp>

#include <precast/policy/choice.hpp>
#include <precast/policy/table_rows.hpp>
#include <precast/policy/training_policies.hpp>

namespace precast::cli {

/// The row of each op class. Throws PathNotCompiled.
std::vector<OpRow> op_rows(const PolicyChoice& choice);

/// The tables of ops and of gradients as columns of text. Throws PathNotCompiled.
std::string policy_tables_text(const PolicyChoice& choice);
/// The same for a training policy.
std::string policy_tables_text(const TrainingChoice& choice);

/// {"policy": its C++ spelling, "preset": the preset that it equals or null, "ops": {"Matmul": {"storage":
/// …}}, "gradients": {"Matmul": {"operand", "accumulate", "inside", "result", "parameters"}},
/// "product", "parameter_product", "master"}.
Json policy_tables_json(const PolicyChoice& choice);
/// The same for a training policy, with its name as "training", and "scales_loss".
Json policy_tables_json(const TrainingChoice& choice);

/// "Policy<Storage<f32>, Compute<f16>, Activation<f32>>".
std::string spelling(const TrainingChoice& choice);

/// The preset that a choice equals, or "".
std::string_view preset_of(const PolicyChoice& choice);

}  // namespace precast::cli
