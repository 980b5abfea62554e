// expect: A dtype of one value needs static constexpr FloatFormat format in its dtype_traits, which makes it
// a scalar, or, as a block dtype, static void decode(const T& block, int first, int count, f32* values).
#include <precast/policy/policy.hpp>

using namespace precast;

struct Mine {
  std::uint8_t bits = 0;
};
template <>
struct precast::dtype_traits<Mine> {
  static constexpr std::string_view name = "mine";
  static constexpr int values_per_block = 1, bytes_per_block = sizeof(Mine);
#ifndef MISTAKE
  static constexpr FloatFormat format{2, 3, Specials::none};
#endif
};

using P = Policy<Storage<Mine>, Compute<bf16>>;
