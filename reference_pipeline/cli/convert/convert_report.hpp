// What a conversion did, for people and for machines.
#pragma once

#include <string>

#include <cli/terminal/output.hpp>
#include <convert/model_conversion.hpp>

namespace precast::cli {

/// A table with a row for each type, what became another type than was asked for, what stayed as it was and
/// why, and the sizes before and after. Of a dry run, that nothing was written.
std::string conversion_text(const conversion::ModelConversion& done, double seconds, bool dry_run);

/// The same as JSON, with a list of all tensors that have another type than was asked for.
Json conversion_json(const conversion::ModelConversion& done, double seconds, bool dry_run);

}  // namespace precast::cli
