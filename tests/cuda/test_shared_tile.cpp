// Where tiles in shared memory keep their chunks: every chunk has a place of its own in its row, and lanes
// that read chunks at once find them in different groups of banks.
#include <cstdint>
#include <set>

#include <catch2/catch.hpp>

#include <precast/cuda/tile/shared_tile.hpp>
#include <precast/dtype/scalar.hpp>

using namespace precast;

namespace {

/// The place of a chunk in bytes from the tile's start, which lies on a multiple of 128.
template <class Tile>
int byte_of(int row, int index) {
  const int place = row * Tile::columns + Tile::xor_swizzle(index, Tile::xor_of(row));
  return place * static_cast<int>(sizeof(typename Tile::value_type));
}

/// In how many groups of four banks, of the eight there are, eight rows have a chunk, `step` rows apart.
template <class Tile>
std::size_t groups_of_banks(int first_row, int step, int index) {
  std::set<int> groups;
  for (int i = 0; i < 8; ++i) groups.insert(byte_of<Tile>(first_row + step * i, index) / 16 % 8);
  return groups.size();
}

}  // namespace

TEMPLATE_TEST_CASE("a shared tile is read without bank conflicts", "[tile]", (gpu::SharedTile<bf16, 64, 32>),
                   (gpu::SharedTile<bf16, 64, 64>), (gpu::SharedTile<bf16, 64, 96>),
                   (gpu::SharedTile<f32, 64, 160>), (gpu::SharedTile<f32, 64, 256>),
                   (gpu::SharedTile<f32, 64, 32, true>)) {
  std::set<int> places;
  for (int row = 0; row < TestType::rows; ++row)
    for (int index = 0; index < TestType::chunks_per_row; ++index) {
      const int byte = byte_of<TestType>(row, index), row_bytes = 16 * TestType::chunks_per_row;
      CHECK(byte / row_bytes == row);
      places.insert(byte);
    }
  CHECK(places.size() == static_cast<std::size_t>(TestType::rows * TestType::chunks_per_row));
  for (int row = 0; row + 8 <= TestType::rows; row += 8)
    for (int index = 0; index < TestType::chunks_per_row; ++index)
      CHECK(groups_of_banks<TestType>(row, 1, index) == 8);
}

TEST_CASE("rows eight apart are spread over banks where a tile says so", "[tile]") {
  for (int row = 0; row < 8; ++row)
    for (int index = 0; index < 8; ++index) {
      CHECK(groups_of_banks<gpu::SharedTile<f32, 64, 32, true>>(row, 8, index) == 8);
      CHECK(groups_of_banks<gpu::SharedTile<f32, 64, 32>>(row, 8, index) == 1);
    }
}
