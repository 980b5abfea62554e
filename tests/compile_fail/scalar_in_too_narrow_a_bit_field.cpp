// expect: A scalar dtype keeps its code in a member `bits`, an unsigned integer that has room for all bits of
// its format.
#include <precast/dtype/convert_value.hpp>

using namespace precast;

struct Mine {
#ifdef MISTAKE
  std::uint16_t bits : 13 = 0;
#else
  std::uint16_t bits : 14 = 0;
#endif
};
template <>
struct precast::dtype_traits<Mine> {
  static constexpr std::string_view name = "mine";
  static constexpr int values_per_block = 1, bytes_per_block = sizeof(Mine);
  static constexpr FloatFormat format{5, 8};
};

f32 widened(Mine value) { return convert_value<f32>(value); }
Mine narrowed(f32 value) { return convert_value<Mine>(value); }
