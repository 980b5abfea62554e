// Every code of every scalar format, both ways, and every tie between two neighbours.
#include <cmath>
#include <cstdint>

#include <catch2/catch.hpp>
#include <dtype/all_formats.hpp>

using namespace precast;

TEST_CASE("every code decodes to the textbook's value") {
  for_each_scalar([]<class T>() {
    constexpr FloatFormat format = dtype_traits<T>::format;
    std::int64_t wrong = 0;
    for_each_code<T>([&](std::uint32_t code) {
      const double expected = textbook_value(code, format.exponent_bits, format.mantissa_bits,
                                             format.specials == Specials::infinity_and_nan);
      wrong +=
          !same_number(to_double(value_of<T>(code)), expected) || !same_number(format.decode(code), expected);
    });
    INFO(dtype_traits<T>::name);
    CHECK(wrong == 0);
  });
}

TEST_CASE("every code survives the way to a double and back, NaN as NaN") {
  for_each_scalar([]<class T>() {
    constexpr FloatFormat format = dtype_traits<T>::format;
    std::int64_t wrong = 0;
    for_each_code<T>([&](std::uint32_t code) {
      const double value = to_double(value_of<T>(code));
      const std::uint32_t back = code_of(from_double<T>(value));
      if (std::isnan(value))
        wrong +=
            format.kind(back) != ValueKind::nan || (code & format.sign_code()) != (back & format.sign_code());
      else
        wrong += back != code;
    });
    INFO(dtype_traits<T>::name);
    CHECK(wrong == 0);
  });
}

TEST_CASE("the kind of every code is what its value says") {
  for_each_scalar([]<class T>() {
    constexpr FloatFormat format = dtype_traits<T>::format;
    std::int64_t wrong = 0;
    for_each_code<T>([&](std::uint32_t code) {
      const double size = std::fabs(format.decode(code));
      const ValueKind expected = std::isnan(size)             ? ValueKind::nan
                                 : std::isinf(size)           ? ValueKind::infinity
                                 : size == 0                  ? ValueKind::zero
                                 : size < format.min_normal() ? ValueKind::subnormal
                                                              : ValueKind::normal;
      wrong += format.kind(code) != expected;
    });
    INFO(dtype_traits<T>::name);
    CHECK(wrong == 0);
  });
}

TEST_CASE("between neighbours: the nearer wins, a tie goes to the even code, in either sign") {
  for_each_scalar([]<class T>() {
    constexpr FloatFormat format = dtype_traits<T>::format;
    std::int64_t wrong = 0;
    for_each_code<T>([&](std::uint32_t code) {
      if ((code & format.sign_code()) != 0 || code >= format.max_code()) return;
      const double low = format.decode(code), high = format.decode(code + 1);
      const double middle = low + (high - low) / 2;  // exact: doubles have bits to spare
      const double infinity = std::numeric_limits<double>::infinity();
      const auto rounds_to = [&](double value, std::uint32_t expected) {
        wrong += code_of(from_double<T>(value)) != expected ||
                 code_of(from_double<T>(-value)) != (expected | format.sign_code());
      };
      rounds_to(middle, code & 1 ? code + 1 : code);
      rounds_to(std::nextafter(middle, infinity), code + 1);
      rounds_to(std::nextafter(middle, 0.0), code);
    });
    INFO(dtype_traits<T>::name);
    CHECK(wrong == 0);
  });
}

TEST_CASE("ulp is the way to the next larger number") {
  for_each_scalar([]<class T>() {
    constexpr FloatFormat format = dtype_traits<T>::format;
    std::int64_t wrong = 0;
    for_each_code<T>([&](std::uint32_t code) {
      if ((code & format.sign_code()) != 0 || code >= format.max_code()) return;
      const double value = format.decode(code);
      wrong +=
          format.ulp(value) != format.decode(code + 1) - value || format.ulp(-value) != format.ulp(value);
    });
    INFO(dtype_traits<T>::name);
    CHECK(wrong == 0);
    CHECK(format.ulp(format.max()) == format.max() - format.decode(format.max_code() - 1));
    CHECK(std::isnan(format.ulp(std::numeric_limits<double>::quiet_NaN())));
  });
}
