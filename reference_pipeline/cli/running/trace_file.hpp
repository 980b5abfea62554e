// The file of `generate --trace FILE`.
#pragma once

#include <cstdint>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <cli/terminal/output.hpp>

#include <precast/io/atomic_file.hpp>
#include <precast/watch/observer.hpp>

namespace precast::cli {

/// The first non-finite value: {"path", "op", "function", "index", "value", "value_in_f32",
/// "largest_inside", "cure", "diagnosis"}.
Json non_finite_json(const watch::NonFinite& found);

/// Observes a run, and streams {"ops": [{"path", "op", "function", "storage", "operand", "accumulate",
/// "inside", "result", "shape", "max_abs", "inf", "nan"}, …], "first_non_finite": {…} or null} op by op, a
/// line each, so that memory does not grow with the run. Dtypes that an op does not have are null.
class TraceFile final : public watch::Observer {
 public:
  /// Writes no file: only finds non-finite values.
  TraceFile() = default;
  /// Opens a temporary file that `commit` renames to `file`. Throws InputError that names the file: here,
  /// also if it exists and `old` says to keep it, and in `commit` if writing failed; the run goes on
  /// without the file.
  explicit TraceFile(const std::filesystem::path& file, io::OldFile old = io::OldFile::replaced)
      : file_(std::in_place, file, old) {}

  void on_op(const watch::OpRecord& record) override;
  bool wants_non_finite() const override { return !first_non_finite_; }
  void on_non_finite(const watch::NonFinite& found) override;

  const std::optional<watch::NonFinite>& first_non_finite() const { return first_non_finite_; }
  /// The number of inf and NaN values in all results.
  std::int64_t non_finite_values() const { return non_finite_values_; }
  void commit();

 private:
  std::optional<io::AtomicFile> file_;
  std::exception_ptr failed_;  ///< the error of writing, thrown by commit
  std::string pending_;
  bool any_ = false;
  std::optional<watch::NonFinite> first_non_finite_;
  std::int64_t non_finite_values_ = 0;
};

}  // namespace precast::cli
