// DLPack both ways, where its header is found.
#if __has_include(<dlpack/dlpack.h>)
#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

#include <catch2/catch.hpp>

#include <precast/interop/dlpack.hpp>
#include <precast/memory/memory.hpp>

using namespace precast;

namespace {

/// A tensor of another library's.
struct Foreign {
  std::vector<std::int64_t> shape, strides;
  std::array<f32, 120> values{};
  DLTensor tensor{};

  Foreign(std::vector<std::int64_t> sizes, std::vector<std::int64_t> steps = {})
      : shape(std::move(sizes)), strides(std::move(steps)) {
    std::iota(values.begin(), values.end(), 0.0f);
    tensor.data = values.data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int>(shape.size());
    tensor.dtype = {kDLFloat, 32, 1};
    tensor.shape = shape.data();
    tensor.strides = strides.empty() ? nullptr : strides.data();
  }
  Foreign(const Foreign&) = delete;
};

}  // namespace

TEST_CASE("a DLPack tensor is a view of its memory", "[interop]") {
  Foreign plain({2, 3, 4});
  const auto view = interop::dlpack_view<f32, HostSpace>(plain.tensor);
  CHECK(view.shape() == Shape{2, 3, 4});
  view.row(5)[3] = -1;
  CHECK(plain.values[23] == -1);
  Foreign strided({3, 4}, {10, 1});
  strided.tensor.byte_offset = 4 * sizeof(f32);
  CHECK(interop::dlpack_view<const f32, HostSpace>(strided.tensor).row(2)[1] == 25);
  Foreign turned({2, 4, 3, 5}, {60, 5, 20, 1});
  CHECK(interop::dlpack_heads<f32, HostSpace>(turned.tensor).row(1, 2, 3)[4] == 119);
  Foreign scalar({});
  CHECK(interop::dlpack_view<f32, HostSpace>(scalar.tensor).elements() == 1);
}

TEST_CASE("a DLPack tensor without memory has no values, or is refused", "[interop]") {
  Foreign given({3, 4}), empty({3, 0}), large({0, std::int64_t{1} << 40, std::int64_t{1} << 40});
  for (Foreign* one : {&given, &empty, &large}) {
    one->tensor.data = nullptr;
    one->tensor.byte_offset = 2;
  }
  CHECK_THROWS_WITH((interop::dlpack_view<f32, HostSpace>(given.tensor)),
                    Catch::Contains("[3, 4] have no memory"));
  CHECK_THROWS_AS((interop::dlpack_heads<f32, HostSpace>(given.tensor)), InputError);
  CHECK(interop::dlpack_view<f32, HostSpace>(empty.tensor).elements() == 0);
  CHECK(interop::dlpack_view<f32, HostSpace>(large.tensor).shape()[2] == std::int64_t{1} << 40);
  DLManagedTensor* const managed = interop::to_dlpack(HostTensor<f32>({0, std::int64_t{1} << 40, 2}));
  CHECK(managed->dl_tensor.strides[0] == std::int64_t{1} << 41);
  managed->deleter(managed);
}

TEST_CASE("a DLPack tensor that is not what a view says is refused with the reason", "[interop]") {
  Foreign given({3, 4});
  CHECK_THROWS_WITH((interop::dlpack_view<bf16, HostSpace>(given.tensor)),
                    Catch::Contains("code 2, 32 bits") && Catch::Contains("bf16"));
  CHECK_THROWS_AS((interop::dlpack_view<f16, HostSpace>(given.tensor)), InputError);
  CHECK_THROWS_WITH((interop::dlpack_view<f32, DeviceSpace>(given.tensor)),
                    Catch::Contains("device type 1") && Catch::Contains("CUDA"));
  given.tensor.dtype.lanes = 4;
  CHECK_THROWS_WITH((interop::dlpack_view<f32, HostSpace>(given.tensor)), Catch::Contains("4 lanes"));
  given.tensor.dtype.lanes = 1;
  given.tensor.device = {kDLCUDA, 1};
  CHECK_THROWS_WITH((interop::dlpack_view<f32, HostSpace>(given.tensor)), Catch::Contains("the host"));
  CHECK_THROWS_WITH((interop::dlpack_view<f32, DeviceSpace>(given.tensor)),
                    Catch::Contains("device 1 is not on device 0"));
  CHECK(interop::dlpack_view<f32, DeviceSpace>(given.tensor, 1).data() == given.values.data());
  given.tensor.device = {kDLCUDAManaged, 0};
  CHECK(interop::dlpack_view<f32, DeviceSpace>(given.tensor).shape() == Shape{3, 4});
  CHECK(interop::dlpack_view<f32, HostSpace>(given.tensor).shape() == Shape{3, 4});
  given.tensor.byte_offset = 2;
  CHECK_THROWS_WITH((interop::dlpack_view<f32, HostSpace>(given.tensor)),
                    Catch::Contains("multiple of their size"));
  Foreign transposed({3, 4}, {1, 3}), deep({1, 1, 1, 1, 1, 1, 1});
  CHECK_THROWS_AS((interop::dlpack_view<f32, HostSpace>(transposed.tensor)), ShapeError);
  CHECK_THROWS_WITH((interop::dlpack_view<f32, HostSpace>(deep.tensor)), Catch::Contains("7 dimensions"));
}

TEST_CASE("a tensor given to DLPack is freed by its deleter, and not before", "[interop]") {
  const std::int64_t before = memory_use().in_use;
  HostTensor<bf16> tensor(Shape{3, 4});
  for (std::int64_t i = 0; i < 12; ++i) tensor.data()[i] = from_double<bf16>(static_cast<double>(i));
  const bf16* const data = tensor.data();
  DLManagedTensor* const managed = interop::to_dlpack(std::move(tensor));
  CHECK(memory_use().in_use > before);
  const DLTensor& given = managed->dl_tensor;
  CHECK(given.data == data);
  CHECK(given.device.device_type == kDLCPU);
  CHECK(given.ndim == 2);
  CHECK(given.shape[1] == 4);
  CHECK(given.strides[0] == 4);
  CHECK(given.strides[1] == 1);
  CHECK(given.dtype.code == kDLBfloat);
  CHECK(given.dtype.bits == 16);
  CHECK(to_double(interop::dlpack_view<const bf16, HostSpace>(given).row(2)[3]) == 11);
  managed->deleter(managed);
  CHECK(memory_use().in_use == before);
}
#endif
