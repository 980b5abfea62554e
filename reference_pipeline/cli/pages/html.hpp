// What the pages of reports share: text, style, and the frame of a page that needs no network.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace precast::cli {

/// "&lt;" for "<": text as HTML may hold it. Bytes that are not UTF-8 become U+FFFD.
std::string html_text(std::string_view text);

/// A table of texts, as many in each row, whose first row is its head, that scrolls where it is too wide.
/// Columns of numbers stand at the right. `keys` is HTML to set before the rows below the head, one for each,
/// such as the colour of its line in a plot.
std::string html_table(const std::vector<std::vector<std::string>>& rows,
                       std::span<const std::string> keys = {});

/// A whole page: `title` is text, `style` is added to the style that all pages have (light and dark, tables,
/// cards, plots, and on paper), `body` is HTML, `script` may be empty.
std::string html_page(std::string_view title, std::string_view style, std::string_view body,
                      std::string_view script = "");

}  // namespace precast::cli
