// expect: Policy: Storage<T> needs a dtype that memory can hold; a format of operands, such as tf32, is not.
#include <cstdint>
#include <string_view>

#include <precast/policy/policy.hpp>

struct e4m3_operand {
  std::uint8_t bits = 0;
};

template <>
struct precast::dtype_traits<e4m3_operand> {
  static constexpr std::string_view name = "e4m3_operand";
  static constexpr int values_per_block = 1, bytes_per_block = 1;
  static constexpr FloatFormat format{4, 3};
  static constexpr bool operands_only = true;
  using between_ops = f32;
};

using namespace precast;

#ifdef MISTAKE
using P = Policy<Storage<e4m3_operand>>;
#else
using P = Policy<Storage<f32>, Compute<e4m3_operand>>;
#endif
P policy;
