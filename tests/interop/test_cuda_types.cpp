// CUDA's types of small floats as Precast's dtypes: the same bits, where the toolkit's headers are found.
#if __has_include(<cuda_fp8.h>)
#include <array>
#include <type_traits>

#include <catch2/catch.hpp>

#include <precast/interop/cuda_types.hpp>
#include <precast/interop/pointer.hpp>

using namespace precast;

namespace {

/// Whether values that CUDA rounds read as they should through a view.
template <class Foreign, class Ours>
bool reads_the_same() {
  const std::array<f32, 6> wanted{0, 1, -1.5f, 0.15625f, 240, -3.25f};
  std::array<Foreign, 6> values;
  for (std::size_t i = 0; i < wanted.size(); ++i) values[i] = Foreign(wanted[i]);
  const auto view = interop::view_at<HostSpace>(values.data(), {6});
  static_assert(std::is_same_v<decltype(view), const HostView<Ours>>);
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (to_double(view.row(0)[i]) != to_double(from_double<Ours>(static_cast<double>(wanted[i]))))
      return false;
  view.row(0)[1] = from_double<Ours>(2);
  return static_cast<f32>(values[1]) == 2;
}

}  // namespace

TEST_CASE("pointers to CUDA's floats are views of the same bits", "[interop]") {
  CHECK(reads_the_same<__half, f16>());
  CHECK(reads_the_same<__nv_bfloat16, bf16>());
  CHECK(reads_the_same<__nv_fp8_e4m3, fp8_e4m3>());
  CHECK(reads_the_same<__nv_fp8_e5m2, fp8_e5m2>());
  static_assert(!interop::ForeignScalar<int>);
  static_assert(std::is_same_v<interop::dtype_of_foreign<const __half>, const f16>);
}
#endif
