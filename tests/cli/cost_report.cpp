// report: what casting costs as a page, looked at as text and in a browser, and as tables.
#include <algorithm>
#include <csignal>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

#include <casting/planner.hpp>
#include <catch2/catch.hpp>
#include <cli/casting/cost_report.hpp>
#include <cli/terminal/interrupt.hpp>
#include <support/skip.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "browser.hpp"
#include "given.hpp"
#include "program.hpp"

namespace cost_reports {
namespace {

using namespace precast;
using namespace precast::cli;
using program::count_of;
using program::flux_dev_costs;

CostReport of_flux(bool planned) {
  CostReport report;
  report.cost_path = flux_dev_costs;
  report.file = casting::read_cost_file(flux_dev_costs);
  if (!planned) return report;
  casting::PlanRequest request;
  request.bits = 5;
  report.plan = casting::make_plan(report.file, flux_dev_costs, request).plan;
  report.plan_path = "plan.json";
  return report;
}

/// That every coordinate of a page is a number.
void check_coordinates(const std::string& page) {
  for (const char* broken : {"nan", "inf\"", "-inf", "=\"\""}) {
    INFO(broken);
    const std::string svg = page.substr(page.find("<svg"), page.rfind("</svg>") - page.find("<svg"));
    for (std::size_t at = svg.find(broken); at != std::string::npos; at = svg.find(broken, at + 1)) {
      const std::size_t tag = svg.rfind('<', at), end = svg.find('>', tag);
      if (at < end) FAIL_CHECK(svg.substr(tag, end - tag));
    }
  }
}

}  // namespace

TEST_CASE("a cost report holds every layer and format, and refers to nothing outside") {
  const std::string page = cost_page(of_flux(true));
  for (const char* outside : {"http:", "https:", "url(", "@import", "<link", "src=", "<iframe", "<script"})
    CHECK(page.find(outside) == std::string::npos);
  CHECK(count_of(page, "class=\"column\"") == 2 * 57);  // of the plots of cost and loss
  CHECK(count_of(page, "class=\"planned\"") == 57);
  CHECK(count_of(page, "class=\"non-finite\"") == 1);  // fp8's loss in block 18
  CHECK(count_of(page, "class=\"chosen\"") == 1);
  for (const char* id : {"id=\"plot-cost\"", "id=\"plot-loss\"", "id=\"plot-sizes\"", "id=\"plan-bar\""})
    CHECK(count_of(page, id) == 1);
  CHECK_THAT(page, Catch::Contains("q4_k <span class=\"soft\">4.5 bits</span>") &&
                       Catch::Contains("11,834,228,736 parameters") &&
                       Catch::Contains("prefers-color-scheme: dark") && Catch::Contains("@media print"));
  check_coordinates(page);
  CHECK(count_of(cost_page(of_flux(false)), "id=\"plan-bar\"") == 0);
}

TEST_CASE("tables of Flux.1-dev are the published ones, weighted too") {
  const std::string text = cost_markdown(of_flux(false));
  CHECK_THAT(text, Catch::Contains("| transformer_blocks.0 | 61.301 |") && Catch::Contains("| 652.65 |"));
  CHECK_THAT(text, Catch::Contains(
                       "| transformer_blocks.0 | 25.542 | | 28.618 | 33.028 | 38.084 | 46.246 | 46.233 |"));
  CHECK_THAT(text, Catch::Contains("| single_transformer_blocks.37 | 0.137 |"));
  CHECK_THAT(text,
             Catch::Contains("| bits | 8.5 | 8 | 6.5625 | 6 | 5.5 | 5 | 5 | 4.5 | 4.5 | 3.4375 | 2.625 |"));
}

TEST_CASE("a report of odd numbers and names is a page all the same") {
  CostReport report;
  report.cost_path = "odd.json";
  report.file = casting::parse_cost_file(
      R"({"model": "<script>alert(1)</script>", "layers": [
          {"name": "<b>&\"x\"", "types": {"<i>": {"cost": "nan"}, "q8_0": {"cost": 0}}},
          {"name": "y", "types": {"q8_0": {"cost": "inf", "loss": 0}}}, {"name": "z"}]})",
      "odd.json");
  const std::string page = cost_page(report);
  CHECK(page.find("<script>") == std::string::npos);
  CHECK(page.find("<b>&") == std::string::npos);
  CHECK_THAT(page,
             Catch::Contains("&lt;b&gt;&amp;&quot;x&quot;") && Catch::Contains("Nothing can be planned"));
  check_coordinates(page);
  report.file = casting::parse_cost_file(R"({"model": "two\nlines", "layers": [{"name": "a"}]})", "odd.json");
  CHECK(cost_markdown(report).starts_with("# What casting two?lines costs\n\n"));
  report.file.model = "<i>x";
  CHECK(cost_markdown(report).starts_with("# What casting \\<i>x costs\n\n"));
  report.file = casting::parse_cost_file(R"({"layers": [{"name": "a"}]})", "odd.json");
  CHECK_THAT(cost_page(report), Catch::Contains("What casting a model costs"));
  report.plan = casting::parse_plan(R"({"types": {"b": "q8_0"}})", "plan.json");
  report.plan_path = "plan.json";
  CHECK_THROWS_WITH(cost_page(report), Catch::Contains("plan.json: layer 'b'"));
}

TEST_CASE("plots of powers of ten say where a 0 lies, and nothing of it where there is none") {
  const auto said = [](const char* cost) {
    CostReport report;
    report.file = casting::parse_cost_file(
        R"({"layers": [{"name": "a", "parameters": 1024, "types": {"bf16": {"cost": )" + std::string(cost) +
            R"(, "loss": 1}, "q8_0": {"cost": 1, "loss": 2}}}]})",
        "cost.json");
    return count_of(cost_page(report), "A 0 lies on the lowest line.");
  };
  CHECK(said("0") == 2);  // of the cost of each layer and of the sizes
  CHECK(said("1e-9") == 0);
}

TEST_CASE("a signal ends a report while it plans its sizes") {
  const CostReport report = of_flux(false);
  const pid_t child = ::fork();  // which is the one that the signal is sent to, and remembers it
  REQUIRE(child >= 0);
  if (child == 0) {
    int code = 1;
    try {
      catch_interrupts();
      std::raise(SIGTERM);
      cost_page(report);
    } catch (const Interrupted&) {
      code = 0;
    } catch (...) {
    }
    ::_exit(code);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

TEST_CASE("plots of layers that were chosen, and of matrices, have the numbers of their blocks") {
  const auto plotted = [](const std::string& names) {
    CostReport report;
    std::string layers;
    std::istringstream words(names);
    for (std::string name; words >> name;)
      layers += (layers.empty() ? R"({"name": ")" : R"(, {"name": ")") + name +
                R"(", "types": {"q8_0": {"cost": 1}}})";
    report.file = casting::parse_cost_file(R"({"layers": [)" + layers + "]}", "cost.json");
    return cost_page(report);
  };
  CHECK_THAT(plotted("blocks.3 blocks.17"),
             Catch::Contains(">3</text>") && Catch::Contains(">17</text>") && !Catch::Contains(">0</text>"));
  const std::string matrices = plotted("blocks.4.q blocks.4.k1 blocks.4.v blocks.5.q");
  CHECK(count_of(matrices, ">4</text>") == 1);
  CHECK(count_of(matrices, ">5</text>") == 1);
}

TEST_CASE("names beside the marks of a size plot lie inside of it") {
  CostReport report;
  report.file = casting::parse_cost_file(
      R"({"layers": [{"name": "a", "parameters": 1024, "types": {
          "f16": {"bits": 16, "cost": 1e-9}, "bf16": {"bits": 16, "cost": 1e-9},
          "fp8_e4m3_tensor": {"bits": 2, "cost": 1}, "q2_k": {"bits": 2, "cost": 1}}}]})",
      "cost.json");
  const std::string page = cost_page(report), plot = page.substr(page.find("id=\"plot-sizes\""));
  for (const char* name : {"f16", "bf16", "fp8_e4m3_tensor", "q2_k"}) {
    INFO(name);
    const std::size_t end = plot.find(">" + std::string(name) + "</text>");
    REQUIRE(end != std::string::npos);
    const std::string tag = plot.substr(plot.rfind("<text", end), end - plot.rfind("<text", end));
    const double x = std::stod(tag.substr(tag.find("x=\"") + 3)), width = 7.0 * std::strlen(name);
    const double left = tag.find("\"end\"") == std::string::npos ? x : x - width;
    CHECK(left >= 0);
    CHECK(left + width <= 1080);  // as wide as its viewBox
  }
}

TEST_CASE("report: files, formats, and what is refused") {
  const program::Scratch scratch;
  const auto out = [&](const char* name) { return (scratch.path() / name).string(); };
  const auto run = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"report", "--cost", flux_dev_costs});
    return program::run(words);
  };
  REQUIRE(run({"--output", out("r.html")}).code == 0);
  CHECK(program::content(out("r.html")).starts_with("<!DOCTYPE html>"));
  REQUIRE(run({"--output", out("r.md")}).code == 0);
  CHECK(program::content(out("r.md")) == run({}).out);
  const auto csv = run({"--format", "csv", "--weighted"});
  REQUIRE(csv.code == 0);
  std::istringstream lines(csv.out);
  std::string line;
  REQUIRE(std::getline(lines, line));
  CHECK(line == "layer,q8_0,fp8_e4m3,q6_k,q5_1,q5_k,q4_1,q4_1_patched,q4_0,q4_k,q3_k,q2_k");
  std::getline(lines, line);
  std::getline(lines, line);
  CHECK(line ==
        "transformer_blocks.0,25.542,,28.618,33.028,38.084,46.246,46.233,76.554,52.192,138.22,271.94");
  CHECK(count_of(csv.out, "\n") == 59);

  struct Case {
    std::vector<std::string> words;
    int code;
    std::string says;
  };
  const std::string other = scratch.file("other.json", R"({"types": {"blocks.9": "q8_0"}})");
  const std::string broken = scratch.file("broken.json", R"({"types": {"a": 4}})");
  for (const Case& wrong :
       std::vector<Case>{{{"--format", "pdf"}, 2, "--format is 'pdf': it takes html, markdown or csv"},
                         {{"--output", out("r.txt")}, 2, "name it .html, .md or .csv"},
                         {{"--weighted"}, 2, "--weighted applies to --format csv"},
                         {{"--measure", "price"}, 2, "--measure is 'price'"},
                         {{"--plan", other, "--format", "html"}, 1, "other.json: layer 'blocks.9'"},
                         {{"--plan", broken}, 1, "broken.json: key 'types.a'"},
                         {{"--output", "/nowhere/r.html"}, 1, "/nowhere/r.html"}}) {
    const auto result = run(wrong.words);
    INFO(wrong.says << " | " << result.err);
    CHECK(result.code == wrong.code);
    CHECK(result.out.empty());
    CHECK(result.one_line_error());
    CHECK_THAT(result.err, Catch::Contains(wrong.says));
  }
}

TEST_CASE("report: a page of Flux.1-dev's costs, in a browser") {
  if (!program::has_browser()) return precast::testing::skip(program::no_browser);
  const program::Scratch scratch;
  std::string page = cost_page(of_flux(true));
  page.insert(
      page.rfind("</body>"),
      "<script>const box = (id) => document.getElementById(id).getBoundingClientRect(); "
      "document.body.dataset.seen = [...['plot-cost', 'plot-loss', 'plot-sizes', 'plan-bar'].map((id) => "
      "box(id).width > 600 && box(id).height > 40), document.querySelectorAll('table').length, "
      "document.documentElement.scrollWidth <= innerWidth].join(' ');</script>");
  for (const char* size : {"--window-size=1200,900", "--window-size=500,900"}) {
    INFO(size);
    const std::string dom =
        program::rendered(scratch.file("page.html", page), std::string(size) + " --dump-dom");
    CHECK_THAT(dom, Catch::Contains("data-seen=\"true true true true 4 true\""));
  }
}

}  // namespace cost_reports
