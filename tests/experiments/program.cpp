// precast experiment, as a user runs it.
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <cli/program.hpp>
#include <experiments/experiment.hpp>

using namespace precast;
using program::Outcome;

TEST_CASE("experiment prints one, all, and refuses others") {
  const Outcome one = program::run({"experiment", "accumulation"});
  REQUIRE(one.code == 0);
  CHECK_THAT(one.out, Catch::Contains("10.0001") && Catch::Contains("9.9531") && Catch::Contains("10.0021") &&
                          !Catch::Contains(" no\n"));
  const nlohmann::json all = program::run({"experiment", "all", "--json"}).json();
  REQUIRE(all["experiments"].size() == experiments::names().size());
  for (std::size_t i = 0; i < all["experiments"].size(); ++i) {
    const nlohmann::json& each = all["experiments"][i];
    CHECK(each["name"] == experiments::names()[i]);
    for (const nlohmann::json& stated : each["stated"]) CHECK(stated["agrees"] == true);
    for (const nlohmann::json& line : each["plot"]["lines"]) CHECK(line["x"].size() == line["y"].size());
  }
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"experiment"},
                                                    {"experiment", "acumulation"},
                                                    {"experiment", "all", "--html"}}) {
    const Outcome wrong = program::run(arguments);
    CHECK(wrong.code == 2);
    CHECK(wrong.one_line_error());
  }
  const auto names = experiments::names();
  CHECK(std::vector<std::string>(names.begin(), names.end()) ==
        std::vector<std::string>{"underflow", "stagnation", "softmax", "softplus", "accumulation", "overflow",
                                 "loss-scaling"});
  CHECK_THAT(program::run({"experiment", "acumulation"}).err, Catch::Contains("accumulation"));
  const Outcome nowhere = program::run({"experiment", "softmax", "--html", "/no/such/folder/page.html"});
  CHECK(nowhere.code == 1);
  CHECK(nowhere.one_line_error());
  CHECK(nowhere.out.empty());
}

TEST_CASE("the page of experiments holds everything and asks for nothing") {
  const program::Scratch scratch;
  const std::string file = (scratch.path() / "page.html").string();
  const Outcome outcome = program::run({"experiment", "all", "--html", file});
  REQUIRE(outcome.code == 0);
  const std::string page = program::content(file);
  for (const char* outside : {"src=", "<link", "<script", "url(", "@import", "https:"})
    CHECK_THAT(page, !Catch::Contains(outside));
  CHECK_THAT(page, Catch::Contains("prefers-color-scheme: dark"));
  for (const std::string_view name : experiments::names()) {
    INFO(name);
    CHECK_THAT(page, Catch::Contains("<h2 id=\"" + std::string(name) + "\">"));
    const std::size_t plot = page.find("<svg id=\"" + std::string(name) + "-plot\"");
    REQUIRE(plot != std::string::npos);
    const std::string drawn = page.substr(plot, page.find("</svg>", plot) - plot);
    for (const char* no_place : {"nan", "Minf", "Linf", "-inf", "\"inf"})
      CHECK_THAT(drawn, !Catch::Contains(no_place));
    CHECK_THAT(drawn, Catch::Contains("<path d=\"M"));
  }
  const Outcome piped = program::run({"experiment", "softmax", "--html", "-"});
  CHECK(piped.code == 0);
  CHECK(piped.out.starts_with("<!DOCTYPE html>"));
}
