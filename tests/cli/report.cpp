// compare --report: one page that needs nothing, looked at as text and in a browser.
#include <limits>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <cli/compare/report_page.hpp>
#include <cli/compare/report_plot.hpp>
#include <cli/options/policy_table.hpp>
#include <cli/pages/html.hpp>
#include <cli/pages/line_plot.hpp>
#include <cli/pages/svg.hpp>
#include <image/metrics.hpp>
#include <support/skip.hpp>

#include "browser.hpp"
#include "program.hpp"

namespace report_pages {
namespace {

using namespace precast;
using namespace precast::cli;

image::Image grey(int side, int value) {
  return {side, side,
          std::vector<std::uint8_t>(std::size_t{3} * static_cast<std::size_t>(side * side),
                                    static_cast<std::uint8_t>(value))};
}

std::vector<Compared> two_rows() {
  Compared reference, other;
  reference.name = "quality";
  reference.picture = grey(8, 100);
  reference.psnr = std::numeric_limits<double>::infinity();
  reference.layers = {{"text_encoder.a", "linear", 3, 0}, {"transformer.b", "attention", 70000, 0}};
  other.name = "f16";
  other.choice.precision = *precision_named("f16");
  other.picture = grey(8, 110);
  other.psnr = 28.13;
  other.mse = 100;
  other.non_finite = 5;
  other.advice = "attention of <b> overflows & breaks";
  other.layers = {{"text_encoder.a", "linear", 3.5, 0}, {"transformer.b", "attention", 65000, 12}};
  return {reference, other};
}

using program::count_of;

}  // namespace

TEST_CASE("difference pictures are as bright as they can be") {
  const image::DifferencePicture found = image::difference_picture(grey(2, 100), grey(2, 110));
  CHECK(found.largest == 10);
  CHECK(found.factor == 25);
  CHECK(found.picture == grey(2, 250));
  CHECK(image::difference_picture(grey(2, 7), grey(2, 7)).picture == grey(2, 0));
  CHECK_THROWS_AS(image::difference_picture(grey(2, 7), grey(3, 7)), ShapeError);
}

TEST_CASE("a report holds all of it, and refers to nothing outside") {
  const std::vector<Compared> rows = two_rows();
  const std::string page =
      report_page({"<script>alert(1)</script> & \"quotes\"", "shapes", "cpu", 7, 8, 8, 4}, rows);
  CHECK(page.find("<script>alert") == std::string::npos);
  CHECK_THAT(page, Catch::Contains("&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quotes&quot;"));
  CHECK_THAT(page, Catch::Contains("attention of &lt;b&gt; overflows &amp; breaks"));
  for (const char* outside : {"http:", "https:", "url(", "@import", "<link", "srcset", "<iframe", "fetch("})
    CHECK(page.find(outside) == std::string::npos);
  CHECK(count_of(page, "src=\"") == count_of(page, "src=\"data:image/png;base64,"));
  CHECK(count_of(page, "<img ") ==
        4);  // the reference, and for f16: itself, the reference over it, the difference
  CHECK_THAT(page, Catch::Contains("28.1 dB") && Catch::Contains("25 times as bright") &&
                       Catch::Contains("seed 7") && Catch::Contains("12 not finite"));
  CHECK(count_of(page, "class=\"non-finite\"") == 1);
  CHECK(count_of(page, "<tbody class=\"class\">") == op_rows(rows.front().choice).size());
  CHECK_THAT(page, Catch::Contains("<td class=\"changed\">f16</td>"));
  // Without a script nothing that is said is hidden: what the style hides is the slider.
  const std::string style = page.substr(page.find("<style>"), page.find("</style>") - page.find("<style>"));
  CHECK(count_of(style, "display: none") == 4);
  for (const char* hidden : {".over {", ".edge {", ".slide {", ".ends {"})
    CHECK_THAT(style, Catch::Contains(hidden));
}

TEST_CASE("a plot has a line a policy, a column a layer, and gaps where a policy has no layer") {
  std::vector<Compared> rows = two_rows();
  rows[1].layers.erase(rows[1].layers.begin());
  rows[1].layers.push_back({"vae.c", "conv", 0, 0});
  const std::vector<LayerRow> layers = layer_rows(rows);
  REQUIRE(layers.size() == 3);
  CHECK(layers[0].max_abs == std::vector<double>{3, -1});
  CHECK(layers[2].max_abs == std::vector<double>{-1, 0});
  const std::string plot = report_plot(rows, layers);
  CHECK(count_of(plot, "class=\"column\"") == 3);
  CHECK(count_of(plot, "fill=\"none\" stroke=\"") == 2);
  CHECK(count_of(plot, "class=\"band") == 3);
  CHECK(report_plot(rows, {}).empty());
  // What has no finite value is a cross and a gap, and no 0.
  rows = two_rows();
  rows[1].layers[1].max_abs = 0;
  rows[0].layers[0].max_abs = 3e7;
  const std::string broken = report_plot(rows, layer_rows(rows));
  CHECK_THAT(broken, Catch::Contains("\nf16: 12 not finite<") && !Catch::Contains("f16: 0"));
  CHECK(count_of(broken, "L") == 1);  // of the reference: f16 has one value left
  CHECK(broken.find("the largest number of f16") > broken.rfind("stroke-linejoin"));
  // Crosses of two policies in one layer are two.
  rows[0].layers[1].non_finite = 12;
  const std::string both = report_plot(rows, layer_rows(rows));
  const std::size_t first = both.find("l8 8m0"), second = both.find("l8 8m0", first + 1);
  REQUIRE(second != std::string::npos);
  CHECK(both.substr(first - 12, 12) != both.substr(second - 12, 12));
  const std::string page = report_page({"a", "shapes", "cpu", 7, 8, 8, 4}, rows);
  CHECK_THAT(page, Catch::Contains("<td class=\"number\">– (12 not finite)</td>") &&
                       Catch::Contains("<td class=\"number\">30000000</td>"));
  // Where two policies are equal, the marks of both are seen: they are at places of their own.
  rows = two_rows();
  rows[1].layers = rows[0].layers;
  const std::string equal = report_plot(rows, layer_rows(rows));
  std::vector<double> places;
  for (std::size_t at = 0; (at = equal.find("class=\"mark\"", at)) != std::string::npos; ++at)
    places.push_back(std::stod(equal.substr(equal.find(" d=\"M", at) + 5, 12)));
  REQUIRE(places.size() > 20);
  std::ranges::sort(places);
  for (std::size_t i = 1; i < places.size(); ++i) CHECK(places[i] - places[i - 1] > 9);
  CHECK(report_key(0) != report_key(1));
}

TEST_CASE("a scale ends at round numbers that its values lie between") {
  const auto ends = [](double least, double most) {
    const PowerScale scale = PowerScale::around(least, most, 10, 100);
    CHECK(scale.y(least) >= scale.y(most));
    return std::pair(std::pow(10, scale.lowest), std::pow(10, scale.highest));
  };
  const auto is = [](std::pair<double, double> found, double low, double high) {
    INFO(found.first << " to " << found.second);
    CHECK(found.first == Approx(low));
    CHECK(found.second == Approx(high));
  };
  is(ends(1, 65504), 1, 100000);
  is(ends(1e-8, 2e5), 1e-8, 1e6);
  is(ends(780, 7151), 500, 10000);
  is(ends(0.2, 50), 0.1, 100);
  is(ends(2.5, 50), 2, 50);
  is(ends(1, 1), 1, 2);
  is(ends(3, 3), 2, 5);
  is(ends(0, 0), 1, 2);
  const PowerScale scale = PowerScale::around(780, 7151, 10, 100);
  CHECK(scale.y(500) == Approx(110));
  CHECK(scale.y(10000) == Approx(10));
  CHECK(scale.y(0) == 110);
  const std::string lines = scale.lines(50, 10);
  for (const char* label : {">500<", ">1000<", ">2000<", ">5000<", ">10000<"})
    CHECK_THAT(lines, Catch::Contains(label));
  CHECK(count_of(lines, "<line") == 5);
  CHECK_THAT(
      PowerScale::around(2.5, 4.5, 0, 1).lines(0, 1),
      Catch::Contains(">2<") && Catch::Contains(">3<") && Catch::Contains(">4<") && Catch::Contains(">5<"));
  CHECK_THAT(PowerScale::around(2e-9, 0.3, 0, 1).lines(0, 1),
             Catch::Contains(">1e-09<") && Catch::Contains(">1<") && !Catch::Contains(">2"));
}

TEST_CASE("an axis names the only value that there is, and steps by whole numbers") {
  const auto plotted = [](std::vector<double> x, bool powers) {
    plots::Plot plot;
    plot.powers_of_x = powers;
    plot.powers_of_y = true;
    plot.lines = {{"a", x, std::vector<double>(x.size(), 3.0)}};
    return line_plot("plot", plot);
  };
  CHECK_THAT(plotted({32}, true), Catch::Contains(">32<") && !Catch::Contains(">100<"));
  CHECK_THAT(plotted({0}, false), Catch::Contains(">0<") && !Catch::Contains(">-0.2<"));
  CHECK_THAT(plotted({0, 1, 2}, false), Catch::Contains(">1<") && !Catch::Contains(">0.5<"));
  CHECK_THAT(plotted({0, 0.25, 2}, false), Catch::Contains(">0.5<"));
  CHECK_THAT(plotted({1e30}, false), Catch::Contains(">1e+30<") && !Catch::Contains("nan"));
}

TEST_CASE("crosses of two lines at one place are two") {
  const double infinite = std::numeric_limits<double>::infinity();
  plots::Plot plot;
  plot.lines = {{"a", {0, 1}, {0, infinite}}, {"b", {0, 1}, {1, infinite}}};
  const std::string text = line_plot("plot", plot);
  const std::size_t first = text.find("l8 8m0"), second = text.find("l8 8m0", first + 1);
  REQUIRE(second != std::string::npos);
  CHECK(text.substr(first - 12, 12) != text.substr(second - 12, 12));
}

TEST_CASE("names of places stand over the lines of a plot") {
  plots::Plot plot;
  plot.lines = {{"a", {0, 1}, {0, 1}}};
  plot.places = {{"half", 0.5}};
  const std::string text = line_plot("plot", plot);
  CHECK(text.find(">half<") > text.find("<path d="));
}

TEST_CASE("columns of numbers stand at the right, those in per cent too") {
  const std::string table = html_table({{"name", "part", "mixed"}, {"a", "97.5%", "1"}, {"b", "-", "one"}});
  CHECK(count_of(table, "class=\"number\"") == 3);
  CHECK_THAT(table, Catch::Contains("<td class=\"number\">97.5%</td>") && Catch::Contains("<td>1</td>"));
}

namespace {

/// Where compare wrote its report of two runs.
std::string report_of_real_runs(const program::Scratch& scratch) {
  std::string page = (scratch.path() / "report.html").string();
  const auto result =
      program::run({"compare", "--prompt", "a small white star on a black background, at the top", "--steps",
                    "2", "--policies", "quality,f16", "--output", (scratch.path() / "sheet.jpg").string(),
                    "--report", page, "--json"});
  INFO(result.err);
  REQUIRE(result.code == 0);
  REQUIRE(result.json()["report"] == page);
  return page;
}

}  // namespace

TEST_CASE("compare: a report of real runs", "[watch]") {
  const program::Scratch scratch;
  const std::string text = program::content(report_of_real_runs(scratch));
  CHECK(count_of(text, "class=\"column\"") > 100);
  CHECK_THAT(text, Catch::Contains("transformer.transformer_blocks.0"));
}

TEST_CASE("compare: a report of real runs, in a browser", "[watch]") {
  if (!program::has_browser()) return precast::testing::skip(program::no_browser);
  const program::Scratch scratch;
  const std::string page = report_of_real_runs(scratch), text = program::content(page);
  const std::string dom = program::rendered(page, "--dump-dom");
  // The script ran, and put the slider where its value says.
  CHECK_THAT(dom, Catch::Contains("class=\"scripted\"") && Catch::Contains("inset(0px 50% 0px 0px)") &&
                      Catch::Contains("left: 50%"));
  // Moved by its event, as a hand does.
  std::string moved = text;
  const std::string end = "</body>";
  moved.insert(
      moved.rfind(end),
      "<script>const s = document.querySelector('.slide'); s.value = 20; s.dispatchEvent(new "
      "Event('input')); const r = document.querySelector('#plot').getBoundingClientRect(), i = "
      "[...document.images]; document.body.dataset.seen = [r.width > 300 && r.height > 80, i.every(x => "
      "x.complete && x.naturalWidth === 64), document.querySelector('#dtypes').offsetHeight > 100, "
      "document.documentElement.scrollWidth <= innerWidth, "
      "getComputedStyle(document.querySelector('.over')).clipPath].join(' ');</script>");
  const std::string moved_dom = program::rendered(
      scratch.file("moved.html", moved), "--virtual-time-budget=4000 --window-size=1200,900 --dump-dom");
  CHECK_THAT(moved_dom, Catch::Contains("data-seen=\"true true true true inset(0px 80% 0px 0px)\""));
  // Without scripts the pictures, tables and the plot are there all the same, and the slider is not.
  std::string plain = text;
  plain.erase(plain.rfind("<script>"), plain.rfind("</script>") + 9 - plain.rfind("<script>"));
  plain.insert(
      plain.rfind(end),
      "<script>document.body.dataset.seen = [document.querySelector('.over').offsetParent === null, "
      "document.querySelector('.slide').offsetParent === null, document.querySelectorAll('.picture > "
      "img').length, document.querySelector('#numbers').offsetHeight > 50].join(' ');</script>");
  const std::string plain_dom = program::rendered(scratch.file("plain.html", plain), "--dump-dom");
  CHECK_THAT(plain_dom, Catch::Contains("data-seen=\"true true 4 true\""));
}

}  // namespace report_pages
