#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <convert/importance.hpp>
#include <convert/write_importance.hpp>
#include <flux/bfl_names.hpp>
#include <weights/layouts.hpp>

#include <precast/error.hpp>
#include <precast/io/message.hpp>
#include <precast/io/name_table.hpp>
#include <precast/io/write_gguf.hpp>

namespace precast::conversion {

namespace {

using Sums = watch::InputSquares::Sums;

/// A component's matrices, by the names of their weights.
std::map<std::string, const Sums*> matrices_of(const watch::InputSquares& squares,
                                               std::string_view component) {
  const std::string beginning = std::string(component) + '.';
  std::map<std::string, const Sums*> matrices;
  for (const auto& [path, sums] : squares.by_path())
    if (path.starts_with(beginning)) matrices.emplace(path.substr(beginning.size()) + ".weight", &sums);
  return matrices;
}

/// The same under BFL's names, too. Matrices that lie in one of BFL's read the same inputs.
std::map<std::string, const Sums*> by_all_names(const std::map<std::string, const Sums*>& matrices) {
  auto all = matrices;
  for (const auto& [name, sums] : matrices)
    if (const auto theirs = io::their_rows(flux::bfl_names, name)) all.emplace(theirs->name, sums);
  return all;
}

std::vector<f32> in_f32(const std::filesystem::path& path, const std::string& name, const Sums& sums) {
  std::vector<f32> values;
  for (const double sum : sums.squares) values.push_back(static_cast<f32>(sum));
  const auto bad = std::ranges::find_if_not(values, [](f32 sum) { return std::isfinite(sum); });
  if (bad != values.end())
    throw io::file_error(
        path, "is not written: '" + io::printable(name) + "' was given infinity or NaN in column " +
                  std::to_string(bad - values.begin()) +
                  ": record in a precision that the model does not overflow (--precision f32)");
  return values;
}

}  // namespace

std::size_t write_importance(const std::filesystem::path& path, const watch::InputSquares& squares,
                             std::string_view component, const std::string& dataset) {
  const auto matrices = matrices_of(squares, component);
  if (matrices.empty())
    throw io::file_error(path,
                         "is not written: no matrix of '" + std::string(component) + "' was given anything");
  std::int64_t calls = 0, rows_of_call = 0;
  for (const auto& [name, sums] : matrices) {
    calls = std::max(calls, sums->calls);
    rows_of_call = std::max(rows_of_call, sums->rows / sums->calls);
  }
  const auto entries = by_all_names(matrices);
  io::GgufWriter writer(path);
  writer.set(weights::type_key, weights::importance_type);
  writer.set("imatrix.datasets", std::span(&dataset, 1));
  writer.set("imatrix.chunk_count", static_cast<std::uint32_t>(calls));
  writer.set("imatrix.chunk_size", static_cast<std::uint32_t>(rows_of_call));
  for (const auto& [name, sums] : entries) {
    writer.declare(name + ".in_sum2", dtype_info<f32>, Shape{1, std::ssize(sums->squares)});
    writer.declare(name + ".counts", dtype_info<f32>, Shape{1, 1});
  }
  for (const auto& [name, sums] : entries) {
    const std::vector<f32> values = in_f32(path, name, *sums);
    writer.write(std::as_bytes(std::span(values)));
    const auto rows = static_cast<f32>(sums->rows);
    writer.write(std::as_bytes(std::span(&rows, 1)));
  }
  writer.commit();
  return matrices.size();
}

}  // namespace precast::conversion
