// A block dtype without one member of the concept, or of another size, as LEFT_OUT chooses: the compiler
// answers with one sentence.
#include <formats/registration.hpp>

namespace mine {

struct Pair {
  std::int8_t values[2];
};
#if LEFT_OUT != 5
void encode_block(const float* values, Pair& block) {
  for (int i = 0; i < 2; ++i) block.values[i] = static_cast<std::int8_t>(values[i]);
}
#endif

}  // namespace mine

template <>
struct precast::dtype_traits<mine::Pair> {
#if LEFT_OUT != 1
  static constexpr std::string_view name = "pair";
#endif
#if LEFT_OUT != 6
  static constexpr std::string_view safetensors_name = "PAIR";
#endif
#if LEFT_OUT == 7
  static constexpr int values_per_block = 1;
#elif LEFT_OUT != 2
  static constexpr int values_per_block = 2;
#endif
#if LEFT_OUT == 3
  static constexpr int bytes_per_block = 3;
#else
  static constexpr int bytes_per_block = 2;
#endif
#if LEFT_OUT != 4
  static void decode(const mine::Pair& block, int first, int count, float* values) {
    for (int i = 0; i < count; ++i) values[i] = block.values[first + i];
  }
#endif
};

const precast::formats::Registration<mine::Pair> pair_is_a_format;
