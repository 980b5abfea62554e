#include <precast/tensor/tensor.hpp>
const precast::Tensor<precast::bf16> q({1, 8, 192}), k({1, 8, 192}), v({1, 8, 192});
// [block]
