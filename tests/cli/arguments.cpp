// Numbers, names and lists as they stand on a command line.
#include <array>
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>
#include <cli/options/arguments.hpp>

#include "given.hpp"

using namespace precast::cli;
using program::Words;

namespace {

std::string message_of(auto&& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("whole numbers are taken whole, in decimal and in range") {
  CHECK(parse_integer("--steps", "20", 1, 100) == 20);
  CHECK(parse_integer("--steps", "010", 1, 100) == 10);  // not octal
  for (const char* text :
       {"", "0", "101", "-1", "+1", "4x", " 4", "4 ", "4.0", "1e2", "0x10", "99999999999999999999"})
    CHECK_THROWS_AS(parse_integer("--steps", text, 1, 100), UsageError);
  CHECK(message_of([] { parse_integer("--steps", "0", 1, 100); }) ==
        "--steps is '0': it takes a whole number from 1 to 100");
}

TEST_CASE("seeds are all of 64 bits") {
  CHECK(parse_seed("--seed", "18446744073709551615") == std::numeric_limits<std::uint64_t>::max());
  for (const char* text : {"", "-1", "18446744073709551616", "1.5", "x"})
    CHECK_THROWS_AS(parse_seed("--seed", text), UsageError);
}

TEST_CASE("real numbers are finite and in range") {
  CHECK(parse_real("--strength", "0.6", 0, 1) == 0.6);
  CHECK(parse_real("--strength", "1", 0, 1) == 1);
  for (const char* text : {"", "1.0001", "-0.1", "nan", "inf", "half", "0.5x", " 0.5"})
    CHECK_THROWS_AS(parse_real("--strength", text, 0, 1), UsageError);
  CHECK(message_of([] { parse_real("--strength", "2", 0, 1); }) ==
        "--strength is '2': it takes a number from 0 to 1");
}

TEST_CASE("any double can be written") {
  CHECK(parse_double("0.1") == 0.1);
  CHECK(parse_double("-3e-8") == -3e-8);
  CHECK(parse_double("0x1.8p3") == 12.0);
  CHECK(parse_double("+1") == 1.0);
  CHECK(std::isnan(parse_double("nan")));
  CHECK(std::isnan(parse_double("-NaN")));
  CHECK(parse_double("inf") == std::numeric_limits<double>::infinity());
  CHECK(parse_double("-infinity") == -std::numeric_limits<double>::infinity());
  CHECK(std::signbit(parse_double("-0")));
  CHECK(parse_double("4.9406564584124654e-324") == std::numeric_limits<double>::denorm_min());
  CHECK(parse_double("1e-310") == 1e-310);
  for (const char* text : {"", "x", "1x", " 1", "1 ", "nan(1)", "1,5", "--1"})
    CHECK_THROWS_AS(parse_double(text), UsageError);
  CHECK_THAT(message_of([] { parse_double("1e400"); }), Catch::Contains("too large for a double"));
  CHECK_THAT(message_of([] { parse_double("-1e400"); }), Catch::Contains("too large for a double"));
  CHECK_THAT(message_of([] { parse_double("1e-400"); }), Catch::Contains("too small for a double"));
}

TEST_CASE("sizes in bytes, with units of 1024 and of 1000") {
  CHECK(parse_bytes("--budget", "1") == 1);
  CHECK(parse_bytes("--budget", "6.5GiB") == 6979321856);
  CHECK(parse_bytes("--budget", "6.5 gib") == 6979321856);
  CHECK(parse_bytes("--budget", "6500MB") == 6'500'000'000);
  CHECK(parse_bytes("--budget", "0.5KiB") == 512);
  CHECK(parse_bytes("--budget", "2tb") == 2'000'000'000'000);
  CHECK(parse_bytes("--budget", "123456789012b") == 123456789012);
  for (const char* text : {"", "GiB", "-1GiB", "0", "0.4", "1e3", "5 apples", "1.2.3GiB", "5GiB ", " 5GiB",
                           "9999999TiB", "nan", "inf", "0x10"})
    CHECK_THAT(message_of([&] { parse_bytes("--budget", text); }),
               Catch::StartsWith("--budget is '" + std::string(text) + "': it takes a size above 0"));
}

TEST_CASE("lists with commas have no empty name and no name twice") {
  CHECK(parse_list("--types", "q8_0") == Words{"q8_0"});
  CHECK(parse_list("--types", "q8_0,q4_k") == Words{"q8_0", "q4_k"});
  for (const char* text : {"", ",", "a,", ",a", "a,,b"})
    CHECK_THROWS_AS(parse_list("--types", text), UsageError);
  CHECK(message_of([] { parse_list("--types", "a,b,a"); }) == "--types names a twice");
}

TEST_CASE("lists of integers have none twice, in whatever spelling") {
  CHECK(parse_integers("--contexts", "8,16", 1, 100) == std::vector<std::int64_t>{8, 16});
  for (const char* text : {"", "8,", "8, 9", "0", "101", "1e1"})
    CHECK_THROWS_AS(parse_integers("--contexts", text, 1, 100), UsageError);
  CHECK(message_of([] { parse_integers("--contexts", "8,08", 1, 100); }) ==
        "--contexts names 8 twice, the second time as 08");
}

TEST_CASE("a wrong name is told its neighbours") {
  static constexpr std::array<std::string_view, 3> names{"quality", "fast", "memory"};
  CHECK(parse_name("--preset", "fast", names) == "fast");
  CHECK(message_of([] { parse_name("--preset", "memroy", names); }) ==
        "--preset is 'memroy': it takes quality, fast or memory; did you mean memory?");
  CHECK(message_of([] { parse_name("--preset", "xyzzy", names); }) ==
        "--preset is 'xyzzy': it takes quality, fast or memory");
  const Words commands{"generate", "compare", "inspect"};
  CHECK(nearest_name("genrate", commands) == "generate");
  CHECK(nearest_name("gen", commands) == "generate");
  CHECK(nearest_name("paint", commands).empty());
}

TEST_CASE("numbers after formats are never taken for options") {
  CHECK(plain_arguments({"formats", "-inf", "--json", "-1.5", "-nan", "-0x1p3", "-.5"}) ==
        Words{"formats", "--json", "--", "-inf", "-1.5", "-nan", "-0x1p3", "-.5"});
  CHECK(plain_arguments({"formats", "1", "one", "--json"}) == Words{"formats", "--json", "--", "1", "one"});
  CHECK(plain_arguments({"formats", "--json"}) == Words{"formats", "--json"});
  CHECK(plain_arguments({"formats", "-h"}) == Words{"formats", "-h"});
  CHECK(plain_arguments({"formats", "--", "-x"}) == Words{"formats", "--", "-x"});
}

TEST_CASE("an option's empty value is its value, and not the next argument") {
  CHECK(plain_arguments({"tokenize", "--text=", "--json"}) == Words{"tokenize", "--text", "", "--json"});
  CHECK(plain_arguments({"tokenize", "--text=a="}) == Words{"tokenize", "--text=a="});
}

TEST_CASE("several prompts become several options") {
  CHECK(plain_arguments({"cost", "--merge", "a", "b", "--json"}) ==
        Words{"cost", "--merge", "a", "--merge", "b", "--json"});
  CHECK(plain_arguments({"generate", "--prompt", "a", "b", "--steps", "4", "--prompt", "c"}) ==
        Words{"generate", "--prompt", "a", "--prompt", "b", "--steps", "4", "--prompt", "c"});
  CHECK(plain_arguments({"generate", "--prompt", "", "--json"}) ==
        Words{"generate", "--prompt", "", "--json"});
  CHECK(plain_arguments({"generate", "-p", "a", "b", "-s", "1"}) ==
        Words{"generate", "--prompt", "a", "--prompt", "b", "-s", "1"});
  CHECK(plain_arguments({"generate", "-p", "-"}) == Words{"generate", "--prompt", "-"});
  CHECK_THROWS_AS(plain_arguments({"generate", "-p", "-o", "x"}), UsageError);
  CHECK(plain_arguments({"generate", "--prompt=a", "b"}) ==
        Words{"generate", "--prompt", "a", "--prompt", "b"});
  CHECK(plain_arguments({"generate", "--prompt=--steps"}) == Words{"generate", "--prompt", "--steps"});
  CHECK(plain_arguments({"generate", "--prompt", "[a, b]"}) == Words{"generate", "--prompt", "[a, b]"});
  CHECK(plain_arguments({"generate", "--prompt=", "--json"}) == Words{"generate", "--prompt", "", "--json"});
  CHECK_THROWS_AS(plain_arguments({"generate", "--prompt"}), UsageError);
  CHECK_THROWS_AS(plain_arguments({"generate", "--prompt", "--steps", "4"}), UsageError);
}
