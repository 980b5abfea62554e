// Reports of a conversion, as text and JSON.
#pragma once

#include <string>

#include <cli/terminal/output.hpp>
#include <convert/model_conversion.hpp>

namespace precast::cli {

/// A table with a row for each type, the tensors whose type is not the requested one, those left unchanged
/// with the reason, and the sizes before and after. For a dry run, says that nothing was written.
std::string conversion_text(const conversion::ModelConversion& done, double seconds, bool dry_run);

/// The same as JSON, with a list of all tensors whose type is not the requested one.
Json conversion_json(const conversion::ModelConversion& done, double seconds, bool dry_run);

}  // namespace precast::cli
