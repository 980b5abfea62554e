// The cells of a table as text and as JSON.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <plots/plot.hpp>

#include <precast/io/json_text.hpp>
#include <precast/io/number_text.hpp>

namespace precast::plots {

/// Whether a number is an integer below 2^53 in magnitude, of which f64 holds all digits.
inline bool is_whole(double value) { return std::fabs(value) < 0x1p53 && value == std::trunc(value); }

/// A cell as text: words, yes or no, an integer, or another number to six digits.
inline std::string cell_text(const Cell& cell) {
  if (const auto* words = std::get_if<std::string>(&cell)) return *words;
  if (const auto* yes = std::get_if<bool>(&cell)) return *yes ? "yes" : "no";
  const double value = std::get<double>(cell);
  return is_whole(value) ? io::fixed(value, 0) : io::significant(value, 6);
}

/// A cell as JSON: numbers with all their digits, integers without a decimal point.
inline io::Json cell_json(const Cell& cell) {
  if (const auto* words = std::get_if<std::string>(&cell)) return *words;
  if (const auto* yes = std::get_if<bool>(&cell)) return *yes;
  const double value = std::get<double>(cell);
  return is_whole(value) ? io::Json(static_cast<std::int64_t>(value)) : io::json_number(value);
}

inline TextRows text_rows(const Table& table) {
  TextRows rows{table.columns};
  for (const auto& row : table.rows) {
    rows.emplace_back();
    for (const Cell& cell : row) rows.back().push_back(cell_text(cell));
  }
  return rows;
}

}  // namespace precast::plots
