// expect: A scalar dtype T is made of its code, as T{bits}, in constant expressions.
#include <precast/dtype/convert_value.hpp>

using namespace precast;

struct Mine {
#ifdef MISTAKE
  explicit Mine(unsigned code) : bits(static_cast<std::uint16_t>(code)) {}
#else
  constexpr explicit Mine(unsigned code) : bits(static_cast<std::uint16_t>(code)) {}
#endif
  std::uint16_t bits;
};
template <>
struct precast::dtype_traits<Mine> {
  static constexpr std::string_view name = "mine";
  static constexpr int values_per_block = 1, bytes_per_block = sizeof(Mine);
  static constexpr FloatFormat format{5, 8};
};

f32 widened(Mine value) { return convert_value<f32>(value); }
Mine narrowed(f32 value) { return convert_value<Mine>(value); }
