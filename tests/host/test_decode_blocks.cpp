// Blocks as files have them, at any address.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/host/blocks/decode_blocks.hpp>

using namespace precast;

TEST_CASE("rows longer than the room for blocks are decoded at every address", "[blocks]") {
  constexpr std::int64_t columns = 12289, rows = 2;
  for (const std::string_view name : {"int8_row", "fp8_e4m3_row"}) {
    INFO(name);
    const DtypeInfo info = scaled_row_info(name, columns);
    std::vector<std::byte> blocks(static_cast<std::size_t>(rows * info.bytes_per_block));
    for (std::size_t i = 0; i < blocks.size(); ++i) blocks[i] = static_cast<std::byte>(i % 113);
    for (std::int64_t r = 0; r < rows; ++r)
      write_row_head(0.5f, columns, blocks.data() + r * info.bytes_per_block);
    const auto decoded = [&](std::size_t offset, std::int64_t first, std::size_t count) {
      alignas(64) static std::byte memory[2 * 12289 + 4096];
      std::copy(blocks.begin(), blocks.end(), memory + offset);
      const host::StoredBlocks stored{
          info, host::rows_decoder<f32>(info.name), {memory + offset, blocks.size()}, columns};
      std::vector<f32> values(count);
      stored.decode(first, values);
      return values;
    };
    for (const std::int64_t first : {std::int64_t{0}, columns - 100})
      CHECK(decoded(1, first, 5000) == decoded(0, first, 5000));
  }
}
