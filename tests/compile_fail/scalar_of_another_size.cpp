// expect: A scalar dtype is one value as it lies in memory: values_per_block is 1, bytes_per_block its size,
// and it can be copied as bytes.
#include <precast/dtype/convert_value.hpp>

using namespace precast;

struct Mine {
  std::uint16_t bits = 0;
};
template <>
struct precast::dtype_traits<Mine> {
  static constexpr std::string_view name = "mine";
  static constexpr int values_per_block = 1;
#ifdef MISTAKE
  static constexpr int bytes_per_block = 3;
#else
  static constexpr int bytes_per_block = 2;
#endif
  static constexpr FloatFormat format{5, 8};
};

f32 widened(Mine value) { return convert_value<f32>(value); }
Mine narrowed(f32 value) { return convert_value<Mine>(value); }
