// Numbers as text: what printf makes of them in the C locale, but for the sign of NaN.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

#include <catch2/catch.hpp>

#include <precast/io/number_text.hpp>

using namespace precast;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

std::string by_printf(const char* format, int digits, double value) {
  std::string text(400, '\0');
  const int length = std::snprintf(text.data(), text.size(), format, digits, value);
  text.resize(static_cast<std::size_t>(length));
  return text;
}

}  // namespace

TEST_CASE("numbers have the digits that printf gives them") {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-320, 308), sign(-1, 1);
  for (int i = 0; i < 20000; ++i) {
    const double value = std::copysign(std::pow(10.0, exponent(random)), sign(random));
    for (const int digits : {0, 1, 4, 32}) {
      CAPTURE(value, digits);
      REQUIRE(io::fixed(value, digits) == by_printf("%.*f", digits, value));
      REQUIRE(io::significant(value, digits) == by_printf("%.*g", digits, value));
    }
    REQUIRE(std::strtod(io::shortest(value).c_str(), nullptr) == value);
  }
}

TEST_CASE("numbers at the ends of their range, zeros and numbers that are none") {
  for (const double value :
       {0.0, -0.0, std::numeric_limits<double>::max(), -std::numeric_limits<double>::max(),
        std::numeric_limits<double>::denorm_min(), infinity, -infinity})
    for (const int digits : {0, 2, 32}) {
      CAPTURE(value, digits);
      CHECK(io::fixed(value, digits) == by_printf("%.*f", digits, value));
      CHECK(io::significant(value, digits) == by_printf("%.*g", digits, value));
    }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {nan, -nan}) {
    CHECK(io::fixed(value, 2) == "nan");
    CHECK(io::significant(value, 2) == "nan");
    CHECK(io::shortest(value) == "nan");
  }
  CHECK(io::shortest(0.6) == "0.6");
  CHECK(io::shortest(-infinity) == "-inf");
}
