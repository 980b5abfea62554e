// docs/extending.md quotes the example that the tests build and run: word for word.
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

namespace quotes {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(std::string(PRECAST_SOURCE_DIR) + "/" + path);
  INFO(path);
  REQUIRE(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

/// The lines between the two that mark a region: "// [name]" or "# [name]".
std::string region_of(const std::string& path, const std::string& name) {
  std::string text;
  int marks = 0;
  for (const std::string& line : lines_of(path))
    if (line == "// [" + name + "]" || line == "# [" + name + "]")
      ++marks;
    else if (marks == 1)
      text += line + "\n";
  INFO(path << " [" << name << "]");
  CHECK(marks == 2);
  return text;
}

struct Quote {
  std::string file, region, text;
};

/// "<!-- FILE [region] -->" and the code block below it.
std::vector<Quote> quotes_in(const std::string& path) {
  const std::vector<std::string> lines = lines_of(path);
  std::vector<Quote> quotes;
  for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
    if (!lines[i].starts_with("<!-- ") || lines[i].find(" [") == std::string::npos) continue;
    const std::size_t bracket = lines[i].find(" ["), end = lines[i].find("] -->");
    Quote quote{lines[i].substr(5, bracket - 5), lines[i].substr(bracket + 2, end - bracket - 2), {}};
    REQUIRE(lines[i + 1].starts_with("```"));
    for (i += 2; i < lines.size() && lines[i] != "```"; ++i) quote.text += lines[i] + "\n";
    quotes.push_back(quote);
  }
  return quotes;
}

}  // namespace

TEST_CASE("docs/extending.md quotes the example as it is") {
  const std::vector<Quote> quotes = quotes_in("docs/extending.md");
  CHECK(quotes.size() >= 10);
  for (const Quote& quote : quotes) {
    INFO(quote.file << " [" << quote.region << "]");
    CHECK(quote.text == region_of(quote.file, quote.region));
  }
}

}  // namespace quotes
