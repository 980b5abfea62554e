// The op table of a policy that was chosen at run time, as names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <cli/output.hpp>
#include <families/presets.hpp>

#include <precast/policy/choice.hpp>

namespace precast::cli {

using families::OpRow;

/// The rows of every op class. Throws PathNotCompiled.
std::vector<OpRow> op_rows(const PolicyChoice& choice);

/// The rows as columns of text.
std::string op_table_text(const PolicyChoice& choice);

/// {"policy": its C++ spelling, "preset": the preset that it equals or null, "ops": {"Matmul": {"storage":
/// …}}}.
Json op_table_json(const PolicyChoice& choice);

/// The preset that a choice equals, or "".
std::string_view preset_of(const PolicyChoice& choice);

}  // namespace precast::cli
