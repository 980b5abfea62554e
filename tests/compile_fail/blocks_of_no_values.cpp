// expect: A block dtype has at least one value in a block.
#include <precast/tensor/block_view.hpp>

using namespace precast;

struct ScaleAlone {
  float scale;
};
template <>
struct precast::dtype_traits<ScaleAlone> {
  static constexpr std::string_view name = "scale_alone";
#ifdef MISTAKE
  static constexpr int values_per_block = 0;
#else
  static constexpr int values_per_block = 1;
#endif
  static constexpr int bytes_per_block = 4;
  static void decode(const ScaleAlone& block, int, int count, f32* values) {
    for (int i = 0; i < count; ++i) values[i] = block.scale;
  }
};

using Rows = HostStoredView<const ScaleAlone>;
std::int64_t columns(const Rows& rows) { return rows.columns(); }
