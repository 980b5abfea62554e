// A unit from headers alone whose ops can be watched: largest values are found by CUB. What nvcc writes for
// CUB's kernels says `cuda::std` unqualified, so no name in precast may be `cuda`.
#include <precast/ops/softmax.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/tensor.hpp>

using namespace precast;

using P = Policy<Storage<bf16>>;

int main() {
  const Tensor<f32> x(Shape{3, 5});
  return softmax<P>(x).elements() == 15 ? 0 : 1;
}
