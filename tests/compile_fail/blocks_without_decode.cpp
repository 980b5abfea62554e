// expect: A block dtype that is multiplied needs static void decode(const T& block, int first, int count,
// f32* values) in its dtype_traits.
#include <precast/tensor/block_view.hpp>

using namespace precast;

struct FourInBlock {
  signed char values[4];
};
template <>
struct precast::dtype_traits<FourInBlock> {
  static constexpr std::string_view name = "four";
  static constexpr int values_per_block = 4;
  static constexpr int bytes_per_block = 4;
#ifndef MISTAKE
  static void decode(const FourInBlock& block, int first, int count, f32* values) {
    for (int i = 0; i < count; ++i) values[i] = static_cast<f32>(block.values[first + i]);
  }
#endif
};

using Rows = HostStoredView<const FourInBlock>;
std::int64_t columns(const Rows& rows) { return rows.columns(); }
