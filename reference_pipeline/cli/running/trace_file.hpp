// What `generate --trace FILE` writes.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <cli/terminal/output.hpp>

#include <precast/io/atomic_file.hpp>
#include <precast/watch/trace.hpp>

namespace precast::cli {

/// {"ops": [{"path", "op", "function", "storage", "operand", "accumulate", "inside", "result", "shape",
/// "max_abs", "inf", "nan"}, …], "first_non_finite": {…} or null}, an op a line. A dtype that an op has not
/// is null.
std::string trace_text(const watch::Trace& trace);

/// That first value: {"path", "op", "function", "index", "value", "value_in_f32", "largest_inside", "cure",
/// "diagnosis"}.
Json non_finite_json(const watch::NonFinite& found);

/// Watches a run, and writes that text op by op, so that a long run takes no more memory than a short one.
class TraceFile final : public watch::Observer {
 public:
  /// Writes nothing: finds what is not finite.
  TraceFile() = default;
  /// Opens the file, which appears with `commit`, whole or not at all. Throws InputError that names it, here,
  /// also where one is there that is to be kept, and in `commit` where it could not be written: the run that
  /// is watched goes on without it.
  explicit TraceFile(const std::filesystem::path& file, io::OldFile old = io::OldFile::replaced)
      : file_(std::in_place, file, old) {}

  void on_op(const watch::OpRecord& record) override;
  bool wants_non_finite() const override { return !first_non_finite_; }
  void on_non_finite(const watch::NonFinite& found) override;

  const std::optional<watch::NonFinite>& first_non_finite() const { return first_non_finite_; }
  /// Infinities and NaNs in all results together.
  std::int64_t non_finite_values() const { return non_finite_values_; }
  void commit();

 private:
  std::optional<io::AtomicFile> file_;
  std::exception_ptr failed_;  ///< why the file could not be written
  std::string pending_;
  bool any_ = false;
  std::optional<watch::NonFinite> first_non_finite_;
  std::int64_t non_finite_values_ = 0;
};

}  // namespace precast::cli
