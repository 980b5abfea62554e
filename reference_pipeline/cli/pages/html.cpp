#include <algorithm>
#include <charconv>

#include <cli/pages/html.hpp>
#include <image/unicode.hpp>

namespace precast::cli {

namespace {

constexpr std::string_view shared_style = R"css(
:root { color-scheme: light dark; --paper: #fbfbf9; --ink: #1d1d1b; --soft: #63635e; --line: #dcdcd6; --card: #ffffff;
  --band: #f2f2ee; --changed: #fff0cf; --limit: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --paper: #181816; --ink: #ecece6; --soft: #a3a39b; --line: #3a3a36;
  --card: #21211e; --band: #272723; --changed: #4b3a10; --limit: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1160px; padding: 28px 24px 56px; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 6px; overflow-wrap: anywhere; white-space: pre-wrap; }
h2 { font-size: 18px; margin: 40px 0 6px; }
p { margin: 4px 0 12px; max-width: 76ch; }
.soft, th { color: var(--soft); }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 500px), 1fr)); gap: 18px; }
.card { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 14px; margin: 0; }
.dot { display: inline-block; width: 11px; height: 11px; border-radius: 50%; margin-right: 7px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 12px 5px 8px; text-align: left; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { font-weight: 600; font-size: 13px; line-height: 1.25; white-space: normal; vertical-align: bottom; }
td.number, th.number { text-align: right; }
td.path { font-family: ui-monospace, monospace; font-size: 13px; }
.advice { border-left: 3px solid var(--limit); padding-left: 12px; margin: 12px 0; }
svg { width: 100%; min-width: 760px; height: auto; display: block; }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft); stroke: var(--paper); stroke-width: 3px;
  paint-order: stroke; }
svg.key { display: inline-block; width: 14px; min-width: 0; height: 14px; margin-right: 6px;
  vertical-align: -2px; }
.mark { stroke: var(--paper); stroke-width: 0.8; }
.band0 { fill: var(--band); } .band1 { fill: none; }
.grid { stroke: var(--line); } .limit { stroke: var(--limit); stroke-dasharray: 5 4; }
.limit-name text { fill: var(--limit); }
.non-finite { fill: none; stroke-width: 2.4; }
.column { fill: transparent; } .column:hover { fill: rgba(128, 128, 128, 0.22); }
.legend { display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 8px 0; }
@media print {
  :root { color-scheme: light; --paper: #ffffff; --ink: #1d1d1b; --soft: #55554f; --line: #d0d0ca; --card: #ffffff;
    --band: #f2f2ee; --changed: #fff0cf; --limit: #b3261e; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { max-width: none; padding: 0; font-size: 11px; }
  .scroll { overflow: visible; } svg { min-width: 0; }
  .card, svg, tr, figure { break-inside: avoid; } h2, h2 + p, .legend, thead { break-after: avoid; }
  th, td { padding: 2px 8px 2px 4px; } th, td.path { font-size: 10px; }
}
)css";

/// Whether a text is a number or a percentage.
bool is_numeric(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  double value;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec != std::errc::invalid_argument && read.ptr == text.data() + text.size();
}

/// Whether the cells below a column's name are numbers, empty or "-", with at least one number.
bool has_numbers(const std::vector<std::vector<std::string>>& rows, std::size_t column) {
  bool found = false;
  for (std::size_t row = 1; row < rows.size(); ++row) {
    const std::string& cell = rows[row][column];
    if (is_numeric(cell))
      found = true;
    else if (!cell.empty() && cell != "-")
      return false;
  }
  return found;
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string result;
  for (const std::int32_t point : image::code_points(text)) {
    switch (point) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        image::append_utf8(result, point < 0x20 && point != '\n' && point != '\t' ? 0xfffd : point);
    }
  }
  return result;
}

std::string html_table(const std::vector<std::vector<std::string>>& rows, std::span<const std::string> keys) {
  std::vector<bool> numbers;
  for (std::size_t column = 0; column < rows.front().size(); ++column)
    numbers.push_back(has_numbers(rows, column));
  std::string text = "<div class=\"scroll\"><table>";
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const bool is_head = row == 0;
    const std::string cell = is_head ? "th" : "td";
    text += is_head ? "<thead><tr>" : "<tr>";
    for (std::size_t column = 0; column < rows[row].size(); ++column)
      text += "<" + cell + (numbers[column] ? " class=\"number\">" : ">") +
              (column == 0 && !is_head && !keys.empty() ? keys[row - 1] : "") + html_text(rows[row][column]) +
              "</" + cell + ">";
    text += is_head ? "</tr></thead><tbody>\n" : "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string html_page(std::string_view title, std::string_view style, std::string_view body,
                      std::string_view script) {
  std::string page =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>" +
      html_text(title) + "</title><style>";
  page.append(shared_style).append(style).append("</style></head><body>\n").append(body);
  if (!script.empty()) page.append("<script>").append(script).append("</script>\n");
  return page + "</body></html>\n";
}

}  // namespace precast::cli
