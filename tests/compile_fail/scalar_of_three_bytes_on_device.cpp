// expect: On a device a scalar dtype takes 1, 2 or 4 bytes.
#define PRECAST_EMULATE_CUDA 1
#include <precast/ops/softmax.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/tensor.hpp>

using namespace precast;

#ifdef MISTAKE
struct [[gnu::packed]] Mine {
  std::uint32_t bits : 24;  // 3 bytes
};
#else
struct Mine {
  std::uint32_t bits;
};
#endif
template <>
struct precast::dtype_traits<Mine> {
  static constexpr std::string_view name = "mine";
  static constexpr int values_per_block = 1, bytes_per_block = sizeof(Mine);
  static constexpr FloatFormat format{8, 15};
};

Tensor<f32> shares(const Tensor<Mine>& x) { return softmax<Policy<Storage<f32>>>(x); }
