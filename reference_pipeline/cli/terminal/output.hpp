// What commands share when they print: JSON for machines and columns for people, on stdout.
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

/// The five names by the op table's words for them, null where a row has none.
Json dtypes_json(const DtypeNames& dtypes);

/// What an optional holds, or null where it holds nothing.
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

/// Brings what was printed to stdout. Gives 0, or the errno of the first write that failed, however long ago:
/// a stream that is bad does not say it again.
int flush_standard_output();

/// Calls `write_files` and then `show`, also where the first throws, as a full disk lets it, and throws that
/// at the end: what took hours to compute is seen all the same.
void write_and_show(const std::function<void()>& write_files, const std::function<void()>& show);

/// Columns, two spaces apart. `alignment` has a letter for each column, l or r; its last one counts for the
/// rest. Widths count code points, so that a dash of three bytes is one column.
std::string aligned(const std::vector<std::vector<std::string>>& rows, const std::string& alignment = "l");

}  // namespace precast::cli
