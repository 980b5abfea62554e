#include <vector>
void snippet(const std::vector<float>& values, const precast::Tensor<precast::bf16>& x, std::int64_t rows,
             std::int64_t columns) {
  // [block]
}
