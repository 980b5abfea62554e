// A plan in words, as a table, and as JSON.
#pragma once

#include <string>

#include <casting/planner.hpp>
#include <cli/terminal/output.hpp>

namespace precast::cli {

/// "57 layers, 11,834,228,736 parameters: q6_k x 12, q4_k x 45", and whether it is proved optimal.
std::string plan_summary(const casting::PlanResult& result);

/// Columns: method, bits, bytes, error, ratio of the error to the plan's, and the constraints that the
/// method violates.
std::string plan_table(const casting::PlanResult& result);

/// "verified: error 1301.2 measured, 1287.1 predicted (1.011 times)".
std::string verified_line(const casting::PlanResult& result, double measured);

/// The plan file's keys, then the parameters and the table's rows.
Json plan_json(const casting::PlanResult& result);

/// "q6_k x 12, q4_k x 45": the number of layers of each format, in order of decreasing bits.
std::string types_in_words(const casting::Plan& plan);

}  // namespace precast::cli
