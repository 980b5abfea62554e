// Tables as Markdown and as comma-separated values.
#pragma once

#include <string>
#include <string_view>

#include <plots/plot.hpp>

namespace precast::plots {

/// Untrusted text escaped for Markdown, in a table too: printable, and no HTML.
std::string markdown_text(std::string_view text);
/// The table in Markdown; an empty string is an empty cell.
std::string as_markdown(const TextRows& rows);
/// The table as comma-separated values (RFC 4180, but with LF line ends).
std::string as_csv(const TextRows& rows);

}  // namespace precast::plots
