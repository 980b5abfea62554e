// A unit from headers alone whose ops can be watched: largest values are found by CUB. It has no `using
// namespace precast`, which hides CUB's namespace ::cuda from nvcc's own code behind precast::cuda.
#include <precast/ops/softmax.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/tensor.hpp>

using P = precast::Policy<precast::Storage<precast::bf16>>;

int main() {
  const precast::Tensor<precast::f32> x(precast::Shape{3, 5});
  return precast::softmax<P>(x).elements() == 15 ? 0 : 1;
}
