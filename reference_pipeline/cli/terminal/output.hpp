// Output to stdout that commands share: JSON for machines and columns for people.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <precast/io/json_text.hpp>
#include <precast/io/number_text.hpp>
#include <precast/policy/op_table.hpp>

namespace precast::cli {

using io::Json;
using io::json_number;

/// A text, or null where it is empty.
Json text_or_null(std::string_view text);

/// The five dtype names, keyed as in the op table; null for those that a row lacks.
Json dtypes_json(const DtypeNames& dtypes);

/// The value of an optional, or null.
template <class T>
Json value_or_null(const std::optional<T>& value) {
  if (!value) return {};
  if constexpr (std::is_floating_point_v<T>)
    return json_number(*value);
  else
    return Json(*value);
}

using io::shortest;
using io::with_commas;

/// Writes the JSON and a newline to stdout.
void print(const Json& json);

/// Writes text to stdout.
void print(const std::string& text);

/// Writes bytes to stdout.
void print(std::span<const std::byte> bytes);

/// Flushes stdout. Returns 0, or the errno of the first failed write, however long ago: a bad stream does
/// not report it again.
int flush_standard_output();

/// Calls `write_files`, then `show` even if the first throws, as on a full disk, and rethrows at the end:
/// results of hours are shown in any case.
void write_and_show(const std::function<void()>& write_files, const std::function<void()>& show);

/// Columns, two spaces apart. `alignment`: l or r for each column; the last letter applies to the remaining
/// ones. Widths count code points, so that a dash of three bytes is one column wide.
std::string aligned(const std::vector<std::vector<std::string>>& rows, const std::string& alignment = "l");

}  // namespace precast::cli
