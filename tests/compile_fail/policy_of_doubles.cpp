// expect: A scalar dtype has numbers that f32 has too: 1 to 8 exponent bits, 0 to 21 mantissa bits, so that
// sums round once; with 8 exponent bits infinity and NaN, and with these a mantissa bit.
#include <precast/policy/policy.hpp>

using namespace precast;

struct Mine {
  std::uint64_t bits = 0;
};
template <>
struct precast::dtype_traits<Mine> {
  static constexpr std::string_view name = "mine";
  static constexpr int values_per_block = 1, bytes_per_block = sizeof(Mine);
#ifdef MISTAKE
  static constexpr FloatFormat format{11, 52};
#else
  static constexpr FloatFormat format{8, 21};
#endif
};

using P = Policy<Storage<Mine>>;
