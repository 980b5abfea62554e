// What the HTML pages of reports share: escaping, style, and a self-contained page.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace precast::cli {

/// Text escaped for HTML: "&lt;" for "<". Bytes that are not UTF-8 become U+FFFD.
std::string html_text(std::string_view text);

/// An HTML table that scrolls if it is too wide; the first row is the head, and all rows have equal length.
/// Columns of numbers are right-aligned. `keys`: HTML to insert before each row below the head, such as the
/// mark of its line in a plot.
std::string html_table(const std::vector<std::vector<std::string>>& rows,
                       std::span<const std::string> keys = {});

/// A whole page: `title` is text, `body` HTML; `style` is appended to the common style (light and dark,
/// tables, cards, plots, print); `script` may be empty.
std::string html_page(std::string_view title, std::string_view style, std::string_view body,
                      std::string_view script = "");

}  // namespace precast::cli
