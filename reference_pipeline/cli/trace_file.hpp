// What `generate --trace FILE` writes.
#pragma once

#include <filesystem>
#include <string>

#include <precast/watch/trace.hpp>

namespace precast::cli {

/// {"ops": [{"path", "op", "function", "storage", "operand", "accumulate", "inside", "result", "shape",
/// "max_abs", "inf", "nan"}, …], "first_non_finite": {…} or null}, an op a line. A dtype that an op has not
/// is null.
std::string trace_text(const watch::Trace& trace);

/// Writes it, whole or not at all. Throws InputError that names the file.
void write_trace(const std::filesystem::path& file, const watch::Trace& trace);

}  // namespace precast::cli
