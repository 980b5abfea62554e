#include <algorithm>
#include <cmath>

#include <cli/compare/report_page.hpp>
#include <cli/compare/report_plot.hpp>
#include <cli/options/policy_table.hpp>
#include <cli/pages/html.hpp>
#include <cli/pages/svg.hpp>
#include <cli/terminal/format.hpp>
#include <image/metrics.hpp>
#include <image/picture_file.hpp>
#include <text/base64.hpp>

#include <precast/error.hpp>
#include <precast/io/counted.hpp>
#include <precast/io/number_text.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::cli {

namespace {

constexpr std::size_t most_largest_layers = 12;
constexpr double most_with_decimals = 1e6;
constexpr int small_side = 256;  // pictures below it are enlarged with sharp pixels

constexpr const char* page_style = R"css(
figcaption small { color: var(--soft); }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 12px; }
.picture { position: relative; margin: 0; }
.picture img { display: block; width: 100%; height: auto; border-radius: 5px; }
.sharp img { image-rendering: pixelated; }
.picture .over { position: absolute; inset: 0; display: none; }
.edge { position: absolute; top: 0; bottom: 0; width: 2px; margin-left: -1px; background: #fff; display: none;
  box-shadow: 0 0 3px #000; }
.scripted .picture .over, .scripted .edge { display: block; }
.slide { display: none; width: 100%; margin: 10px 0 0; accent-color: #0072b2; }
.scripted .slide { display: block; }
.ends { display: none; justify-content: space-between; font-size: 12px; color: var(--soft); }
.scripted .ends { display: flex; }
figcaption { margin-bottom: 10px; display: flex; flex-wrap: wrap; gap: 2px 10px; align-items: baseline; }
figcaption b { font-size: 16px; }
.under { font-size: 12px; color: var(--soft); margin-top: 6px; }
td.changed { background: var(--changed); font-weight: 600; }
tbody.class { border-top: 2px solid var(--line); }
)css";

/// With scripts: the slider shows the reference on its left and the policy on its right.
constexpr const char* page_script = R"js(
document.documentElement.classList.add("scripted");
for (const slide of document.querySelectorAll(".slide")) {
  const card = slide.closest(".card"), over = card.querySelector(".over"), edge = card.querySelector(".edge");
  const show = () => {
    over.style.clipPath = "inset(0 " + (100 - slide.value) + "% 0 0)";
    edge.style.left = slide.value + "%";
  };
  const drag = (event) => {
    if (event.type === "pointermove" && !event.buttons) return;
    const box = over.getBoundingClientRect();
    slide.value = 100 * Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
    show();
  };
  slide.addEventListener("input", show);
  over.parentElement.addEventListener("pointerdown", drag);
  over.parentElement.addEventListener("pointermove", drag);
  show();
}
)js";

std::string picture_tag(const image::Image& picture, const std::string& what, const char* more = "") {
  return "<img " + std::string(more) + "width=\"" + std::to_string(picture.width) + "\" height=\"" +
         std::to_string(picture.height) + "\" alt=\"" + html_text(what) + "\" src=\"data:image/png;base64," +
         text::encode_base64(image::encode_image(image::Format::png, picture)) + "\">";
}

std::string dot(std::size_t place) {
  return "<span class=\"dot\" style=\"background:" + std::string(report_colour(place)) + "\"></span>";
}

std::string facts_line(const Compared& row) {
  return "<small>" + io::fixed(row.seconds, 2) + " s, " + in_bytes(row.peak_bytes) + "</small>";
}

std::string sharpness(const image::Image& picture) {
  return std::max(picture.width, picture.height) < small_side ? " sharp" : "";
}

std::string reference_card(const Compared& row) {
  return "<figure class=\"card" + sharpness(row.picture) + "\"><figcaption><b>" + dot(0) +
         html_text(row.name) + "</b><small>the reference</small>" + facts_line(row) +
         "</figcaption><div class=\"pair\"><div class=\"picture\">" +
         picture_tag(row.picture, "the picture under " + row.name) +
         "</div><p class=\"under\">What the others are compared with. Each of them has its own picture at "
         "the left and, at the right, where it differs from this one.</p></div></figure>\n"
         "";
}

std::string policy_card(const Compared& reference, const Compared& row, std::size_t place) {
  const image::DifferencePicture differences = image::difference_picture(reference.picture, row.picture);
  const std::string name = html_text(row.name);
  std::string under =
      differences.largest == 0
          ? "no pixel differs"
          : "difference" +
                (differences.factor == 1 ? ""
                                         : ", " + std::to_string(differences.factor) + " times as bright") +
                "; the largest is " + std::to_string(differences.largest) + " of 255";
  return "<figure class=\"card" + sharpness(row.picture) + "\"><figcaption><b>" + dot(place) + name +
         "</b><small>" + (std::isinf(row.psnr) ? "equal to the reference" : io::fixed(row.psnr, 1) + " dB") +
         "</small>" + facts_line(row) + "</figcaption><div class=\"pair\"><div><div class=\"picture\">" +
         picture_tag(row.picture, "the picture under " + row.name) +
         picture_tag(reference.picture, "the reference, over it up to the slider", "class=\"over\" ") +
         "<div class=\"edge\"></div></div><input class=\"slide\" type=\"range\" min=\"0\" max=\"100\" "
         "step=\"0.5\" "
         "value=\"50\" aria-label=\"how much of the reference is shown\"><div class=\"ends\"><span>" +
         html_text(reference.name) + "</span><span>" + name +
         "</span></div></div><div><div class=\"picture\">" +
         picture_tag(differences.picture, "the difference between " + row.name + " and the reference") +
         "</div><div class=\"under\">" + under + "</div></div></div></figure>\n";
}

std::string numbers_table(std::span<const Compared> rows) {
  std::string text =
      "<div class=\"scroll\"><table id=\"numbers\"><thead><tr><th>policy</th><th class=\"number\">PSNR "
      "(dB)</th><th class=\"number\">MSE</th><th class=\"number\">seconds</th><th class=\"number\">peak "
      "memory</th><th class=\"number\">not finite</th></tr></thead><tbody>\n"
      "";
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Compared& row = rows[i];
    text += "<tr><td>" + dot(i) + html_text(row.name) + "</td>";
    for (const std::string& cell :
         {i ? psnr_text(row.psnr) : std::string("–"), i ? io::fixed(row.mse, 3) : std::string("–"),
          io::fixed(row.seconds, 2), in_bytes(row.peak_bytes), with_commas(row.non_finite)})
      text += "<td class=\"number\">" + cell + "</td>";
    text += "</tr>\n";
  }
  text += "</tbody></table></div>\n";
  for (const Compared& row : rows)
    if (!row.advice.empty())
      text += "<p class=\"advice\"><b>" + html_text(row.name) + "</b>: " + html_text(row.advice) + "</p>\n";
  return text;
}

std::string dtypes_table(std::span<const Compared> rows) {
  std::vector<std::vector<OpRow>> tables;
  for (const Compared& row : rows) tables.push_back(op_rows(row.choice));
  std::string text =
      "<div class=\"scroll\"><table id=\"dtypes\"><thead><tr><th>op class</th><th>policy</th><th>storage</th>"
      "<th>operand</th><th>accumulate</th><th>inside</th><th>result</th></tr></thead>\n";
  for (std::size_t op = 0; op < tables.front().size(); ++op) {
    text += "<tbody class=\"class\">";
    for (std::size_t policy = 0; policy < rows.size(); ++policy) {
      text += "<tr>";
      if (policy == 0)
        text += "<td rowspan=\"" + std::to_string(rows.size()) + "\"><b>" + html_text(tables.front()[op].op) +
                "</b></td>";
      text += "<td>" + dot(policy) + html_text(rows[policy].name) + "</td>";
      const DtypeNames& row = tables[policy][op].dtypes;
      const DtypeNames& reference = tables.front()[op].dtypes;
      for (const auto& [cell, usual] :
           {std::pair(row.storage, reference.storage), std::pair(row.operand, reference.operand),
            std::pair(row.accumulate, reference.accumulate), std::pair(row.inside, reference.inside),
            std::pair(row.result, reference.result)})
        text += std::string(cell == usual ? "<td>" : "<td class=\"changed\">") +
                (cell.empty() ? "–" : html_text(cell)) + "</td>";
      text += "</tr>";
    }
    text += "</tbody>\n";
  }
  return text + "</table></div>\n";
}

/// The layers whose values are the largest under any policy.
std::string largest_layers(std::span<const Compared> rows, std::vector<LayerRow> layers) {
  const auto largest = [](const LayerRow& layer) { return *std::ranges::max_element(layer.max_abs); };
  std::ranges::stable_sort(layers, std::ranges::greater{}, largest);
  layers.resize(std::min(layers.size(), most_largest_layers));
  std::string text = "<div class=\"scroll\"><table id=\"largest\"><thead><tr><th>the largest</th>";
  for (std::size_t i = 0; i < rows.size(); ++i)
    text += "<th class=\"number\">" + dot(i) + html_text(rows[i].name) + "</th>";
  text += "</tr></thead><tbody>\n";
  for (const LayerRow& layer : layers) {
    text += "<tr><td class=\"path\">" + html_text(layer.name) + "</td>";
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const std::string broken =
          layer.non_finite[i] ? " (" + with_commas(layer.non_finite[i]) + " not finite)" : "";
      const std::string value = !layer.has_value(i)                     ? "–"
                                : layer.max_abs[i] < most_with_decimals ? io::fixed(layer.max_abs[i], 2)
                                                                        : four_digits(layer.max_abs[i]);
      text += "<td class=\"number\">" + value + broken + "</td>";
    }
    text += "</tr>\n";
  }
  return text + "</tbody></table></div>\n";
}

std::string layers_section(std::span<const Compared> rows) {
  const std::vector<LayerRow> layers = layer_rows(rows);
  if (layers.empty())
    return watch::compiled ? "<p>No layer was watched: the parts were run without --layers.</p>\n"
                           : "<p>This build cannot watch layers: configure with -DPRECAST_WATCH=on.</p>\n";
  std::string legend = "<div class=\"legend\">";
  for (std::size_t i = 0; i < rows.size(); ++i)
    legend += "<span>" + report_key(i) + html_text(rows[i].name) + "</span>";
  return legend + "</div><div class=\"scroll\">" + report_plot(rows, layers) + "</div>\n" +
         largest_layers(rows, layers);
}

}  // namespace

std::string report_page(const ReportFacts& facts, std::span<const Compared> rows) {
  std::string page = "<h1>" + html_text(facts.prompt) + "</h1>\n<p class=\"soft\">" + html_text(facts.model) +
                     " on " + html_text(facts.device) + ", " + std::to_string(facts.width) + "x" +
                     std::to_string(facts.height) + ", " + io::counted(facts.steps, "step") + ", seed " +
                     std::to_string(facts.seed) +
                     "; precast " PRECAST_VERSION "</p>\n<div class=\"cards\">\n";
  page += reference_card(rows.front());
  for (std::size_t i = 1; i < rows.size(); ++i) page += policy_card(rows.front(), rows[i], i);
  page +=
      "</div>\n<h2>Distance, time and memory</h2>\n<p class=\"soft\">PSNR and MSE are of the 8-bit pictures "
      "against " +
      html_text(rows.front().name) + ".</p>\n" + numbers_table(rows);
  page +=
      "<h2>The largest value of each layer</h2>\n<p class=\"soft\">The largest finite |x| that an op gave in "
      "all "
      "steps, of a second run that was watched. A cross is a layer that gave infinities or NaN. Hover over a "
      "layer to read its values.</p>\n" +
      layers_section(rows);
  page += "<h2>Five dtypes for each class of op</h2>\n<p class=\"soft\">Marked: what differs from " +
          html_text(rows.front().name) + ".</p>\n" + dtypes_table(rows);
  return html_page(facts.prompt + " – precast compare", page_style, page, page_script);
}

}  // namespace precast::cli
