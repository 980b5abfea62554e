// precast train --compare as a user runs it: the table, the page and the log of several policies.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>
#include <support/skip.hpp>

#include "browser.hpp"
#include "given.hpp"
#include "program.hpp"

using program::run;
using program::Scratch;
using program::Words;
namespace fs = std::filesystem;

namespace {

/// Three regimes of one run, and their report.
program::Outcome compared_regimes(const std::string& page) {
  return run(program::train_tiny({"--compare", "f32,naive-f16,amp-f16", "--batch", "2", "--context", "8",
                                  "--steps", "12", "--init-scale", "1e9", "--report", page, "--json"}));
}

}  // namespace

TEST_CASE("train --compare shows that naive f16 fails and loss scaling recovers", "[train]") {
  const Scratch scratch;
  const std::string page = (scratch.path() / "page.html").string();
  const auto compared = compared_regimes(page);
  INFO(compared.err);
  REQUIRE(compared.code == 0);
  const auto runs = compared.json()["runs"];
  REQUIRE(runs.size() == 3);
  CHECK(runs[0]["not_finite_from"].is_null());
  CHECK(runs[1]["not_finite_from"] == 1);
  CHECK(runs[2]["not_finite_from"].is_null());
  CHECK(runs[2]["skipped"] > 0);
  CHECK(runs[2]["scale"] < 1e9);
  CHECK(runs[0]["non_finite"] == 0);
  CHECK(runs[2]["non_finite"] > 0);
  CHECK(runs[2].contains("grad_norm"));
  const std::string html = program::content(page);
  for (const char* part :
       {"<svg", "naive-f16", "Loss scale", "0 in f16", "gradient norm by step", "class=\"non-finite\"",
        "A cross is", "naive-f16: ", "amp-f16: 1e+09 at 0", ">2^-20</text>", ">2^-30</text>"})
    CHECK_THAT(html, Catch::Contains(part));
  CHECK(html.find("nan\"") == std::string::npos);
}

TEST_CASE("the page of train --compare has no parts of gradients where none is finite", "[train]") {
  const Scratch scratch;
  const std::string page = (scratch.path() / "page.html").string();
  const auto compared = run(program::train_tiny(
      {"--compare", "naive-f16", "--batch", "2", "--context", "8", "--steps", "3", "--report", page}));
  INFO(compared.err);
  REQUIRE(compared.code == 0);
  CHECK_THAT(program::content(page),
             Catch::Contains("No gradient is a finite number") && !Catch::Contains("0 in f16"));
}

TEST_CASE("the page of train --compare shows gradients as they were before --clip", "[train]") {
  const Scratch scratch;
  const auto gradients = [&](const Words& clip) {
    const std::string page = (scratch.path() / "page.html").string();
    const auto compared = run(program::train_tiny(program::with(
        {"--compare", "f32,amp-f16", "--batch", "2", "--context", "8", "--steps", "1", "--report", page},
        clip)));
    INFO(compared.err);
    REQUIRE(compared.code == 0);
    const std::string html = program::content(page);
    return html.substr(html.find("<h2>Gradients of f32"));
  };
  const std::string plain = gradients({});
  CHECK_THAT(plain, Catch::Contains("are 0 in f16"));
  CHECK(gradients({"--clip", "1e-9"}) == plain);
}

TEST_CASE("the page of train --compare, in a browser", "[train]") {
  if (!program::has_browser()) return precast::testing::skip(program::no_browser);
  const Scratch scratch;
  const std::string page = (scratch.path() / "page.html").string();
  REQUIRE(compared_regimes(page).code == 0);
  std::string asked = program::content(page);
  asked.insert(asked.rfind("</body>"),
               "<script>const plots = [...document.querySelectorAll('svg[role=img]')], box = x => "
               "x.getBoundingClientRect(); document.body.dataset.seen = [plots.length, plots.every(x => "
               "box(x).width > 300 && box(x).height > 80), plots.every(x => [...x.querySelectorAll('text')]"
               ".every(t => box(t).left >= box(x).left - 1 && box(t).right <= box(x).right + 1 && box(t).top "
               ">= box(x).top - 1 && box(t).bottom <= box(x).bottom + 1)), "
               "plots.every(x => { const texts = [...x.querySelectorAll('text')].map(box), apart = (a, b) => "
               "a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top; return "
               "texts.every((a, i) => texts.every((b, j) => i === j || apart(a, b)) && "
               "[...x.querySelectorAll('line.limit')].every(l => apart(a, box(l)))); }), "
               "document.querySelector('table').offsetHeight > 50, "
               "document.documentElement.scrollWidth <= innerWidth].join(' ');</script>");
  const std::string dom = program::rendered(scratch.file("asked.html", asked),
                                            "--virtual-time-budget=4000 --window-size=1200,900 --dump-dom");
  // Four plots, none of whose words lie outside of it, on another or on a limit, and the table.
  CHECK_THAT(dom, Catch::Contains("data-seen=\"4 true true true true true\""));
}

TEST_CASE("a comparison is shown though its report cannot be written", "[train]") {
  const Scratch scratch;
  const std::string page = (scratch.path() / "page.html").string();
  const Words words = program::train_tiny(
      {"--compare", "f32,bf16", "--batch", "2", "--context", "8", "--steps", "3", "--report", page});
  for (const bool json : {false, true}) {
    const auto full = run(program::with(words, json ? Words{"--json"} : Words{}), "ulimit -f 2;");
    INFO(full.out << full.err);
    CHECK(full.code == 1);
    CHECK(full.one_line_error());
    CHECK_THAT(full.err, Catch::Contains("page.html: could not be written"));
    if (json)
      CHECK(full.json()["runs"].size() == 2);
    else
      CHECK(std::count(full.out.begin(), full.out.end(), '\n') == 3);
    CHECK_FALSE(fs::exists(page));
  }
}

TEST_CASE("the log of a comparison has each policy's steps, with its name", "[train]") {
  const Scratch scratch;
  const fs::path log = scratch.path() / "log.jsonl";
  const auto compared = run(program::train_tiny({"--compare", "f32,fast", "--batch", "2", "--steps", "3",
                                                 "--context", "8", "--json", "--log", log.string()}));
  INFO(compared.err);
  REQUIRE(compared.code == 0);
  const auto lines = program::json_lines(log);
  REQUIRE(lines.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(lines[i]["policy"] == (i < 3 ? "f32" : "bf16+flash"));
    CHECK(lines[i]["step"] == i % 3);
  }
  for (const std::size_t policy : {0u, 1u}) {
    const auto shown = compared.json()["runs"][policy];
    CHECK(lines[3 * policy + 2]["loss"] == shown["loss"]);
    CHECK(lines[3 * policy]["policy"] == shown["policy"]);
  }
  CHECK(program::content(log).starts_with("{\"policy\":\"f32\",\"step\":0,"));
}

TEST_CASE("a comparison that is ended shows the policies that were trained", "[train]") {
  const Scratch scratch;
  const fs::path page = scratch.path() / "page.html";
  // Seconds each, so that the end of the first is told before that of the second.
  const auto ended = program::run_until(
      program::said("f32: done"), "INT",
      {"train", "--compare", "f32,amp-f16,amp-bf16", "--width", "64", "--layers", "2", "--batch", "8",
       "--context", "64", "--steps", "300", "--threads", "1", "--json", "--report", page.string()});
  INFO(ended.err);
  CHECK(ended.code == 130);
  CHECK_THAT(ended.err, Catch::Contains("interrupted: 1 of 3 policies were trained"));
  const auto runs = ended.json()["runs"];
  REQUIRE(runs.size() == 1);
  CHECK(runs[0]["policy"] == "f32");
  CHECK(runs[0]["steps"] == 300);
  CHECK_THAT(program::content(page), Catch::Contains("1 policy</h1>"));
}

TEST_CASE("a comparison that is ended in its first policy says so, with its log beside it", "[train]") {
  const Scratch scratch;
  const fs::path log = scratch.path() / "log.jsonl";
  const auto ended = program::run_until(
      "[ -s " + program::quoted(log.string()) + " ]", "INT",
      program::train_tiny({"--compare", "f32,bf16", "--steps", "100000000", "--log", log.string()}));
  INFO(ended.err);
  CHECK(ended.code == 130);
  CHECK(ended.out.empty());
  CHECK_THAT(ended.err, Catch::Contains("interrupted: 0 of 2 policies were trained"));
  CHECK_FALSE(program::json_lines(log).empty());
}
