#include <cuda/random_blocks.hpp>
#include <support/block_source.hpp>
#include <support/random_model.hpp>

namespace precast::bench {

std::vector<std::byte> random_blocks(std::string_view format, std::int64_t rows, std::int64_t columns) {
  return testing::encoded(format, testing::random_values<f32>(static_cast<std::size_t>(rows * columns)));
}

}  // namespace precast::bench
