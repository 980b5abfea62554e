// Lists as text: what stands between elements, and what elements may be.
#include <array>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include <precast/io/joined.hpp>

using namespace precast;

TEST_CASE("a separator stands between the elements of a list alone") {
  CHECK(io::joined(std::vector<std::string>{}, ", ").empty());
  CHECK(io::joined(std::vector<std::string>{"one"}, ", ") == "one");
  CHECK(io::joined(std::vector<std::string>{"one", "two", "three"}, ", ") == "one, two, three");
  CHECK(io::joined(std::vector<std::string>{"", "two", ""}, "|") == "|two|");
  CHECK(io::joined(std::vector<std::string>{"one", "two"}, "") == "onetwo");
}

TEST_CASE("a list may have texts of any kind, or integers") {
  CHECK(io::joined(std::array<std::string_view, 2>{"one", "two"}, "|") == "one|two");
  CHECK(io::joined(std::list<const char*>{"one", "two"}, " and ") == "one and two");
  const std::int32_t ids[] = {-1, 0, 49407};
  CHECK(io::joined(ids, " ") == "-1 0 49407");
  CHECK(io::joined(std::vector{INT64_MIN, INT64_MAX}, ",") == "-9223372036854775808,9223372036854775807");
}

TEST_CASE("a list is joined by what a function or a member gives of each element") {
  struct Size {
    std::string_view name;
    std::int64_t width;
    std::string in_words() const { return std::string(name) + " of " + std::to_string(width); }
  };
  const std::array sizes{Size{"S", 768}, Size{"M", 1024}};
  CHECK(io::joined(sizes, ", ", &Size::name) == "S, M");
  CHECK(io::joined(sizes, ", ", &Size::width) == "768, 1024");
  CHECK(io::joined(sizes, ", ", &Size::in_words) == "S of 768, M of 1024");
  int calls = 0;
  CHECK(io::joined(sizes, " ", [&](const Size&) { return ++calls; }) == "1 2");
}
