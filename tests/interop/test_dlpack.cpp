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

// What <dlpack/dlpack.h> has since DLPack 1.0, which is newer than Debian's.
struct PackVersion {
  std::uint32_t major = 1, minor = 0;
};
struct Versioned {
  PackVersion version;
  void* manager_ctx = nullptr;
  void (*deleter)(Versioned*) = nullptr;
  std::uint64_t flags = 0;
  DLTensor dl_tensor{};
};
static_assert(interop::VersionedDlpack<Versioned> && !interop::VersionedDlpack<DLManagedTensor>);

/// A dtype of a program's own, of which DLPack knows.
struct e3m4 {
  std::uint8_t bits = 0;
};

}  // namespace

template <>
struct precast::dtype_traits<e3m4> {
  static constexpr std::string_view name = "e3m4";
  static constexpr int values_per_block = 1, bytes_per_block = 1, dlpack_code = 7;
  static constexpr FloatFormat format{3, 4, Specials::infinity_and_nan};
};

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
                    Catch::Contains("aligned to their size"));
  Foreign transposed({3, 4}, {1, 3}), deep({1, 1, 1, 1, 1, 1, 1});
  CHECK_THROWS_AS((interop::dlpack_view<f32, HostSpace>(transposed.tensor)), ShapeError);
  CHECK_THROWS_WITH((interop::dlpack_view<f32, HostSpace>(deep.tensor)), Catch::Contains("7 dimensions"));
  transposed.tensor.shape = nullptr;
  CHECK_THROWS_WITH((interop::dlpack_view<f32, HostSpace>(transposed.tensor)),
                    Catch::Contains("2 dimensions has no shape"));
}

TEST_CASE("a dtype of a program's own has the DLPack code that its traits say", "[interop]") {
  Foreign given({3, 4});
  CHECK_THROWS_WITH((interop::dlpack_view<e3m4, HostSpace>(given.tensor)),
                    Catch::Contains("e3m4, which has code 7, 8 bits"));
  given.tensor.dtype = {7, 8, 1};
  CHECK(interop::dlpack_view<e3m4, HostSpace>(given.tensor).shape() == Shape{3, 4});
}

TEST_CASE("a DLPack tensor of integers is their numbers", "[interop]") {
  std::vector<std::int64_t> numbers{7, 8, 9, 10, 11, 12};
  Foreign given({2, 3}, {3, 1});
  given.tensor.data = numbers.data();
  CHECK_THROWS_WITH((interop::dlpack_view<const std::int64_t, HostSpace>(given.tensor)),
                    Catch::Contains("int64, which has code 0, 64 bits"));
  given.tensor.dtype = {kDLInt, 64, 1};
  given.tensor.byte_offset = sizeof(std::int64_t);
  given.shape[0] = 1;
  const IndicesIn<std::int64_t, HostSpace> indices =
      interop::dlpack_view<const std::int64_t, HostSpace>(given.tensor);
  CHECK(indices.data == numbers.data() + 1);
  CHECK(indices.count == 3);
  CHECK_THROWS_AS((interop::dlpack_view<std::int32_t, HostSpace>(given.tensor)), InputError);
  Versioned managed;
  managed.flags = 1;
  managed.dl_tensor = given.tensor;
  CHECK(interop::dlpack_view<const std::int64_t, HostSpace>(managed).data == indices.data);
  given.tensor.byte_offset = 0;
  given.shape = {3, 2};
  given.strides = {1, 3};
  CHECK_THROWS_WITH((interop::dlpack_view<std::int64_t, HostSpace>(given.tensor)),
                    Catch::Contains("strides [1, 3] of [3, 2]") && Catch::Contains("not contiguous"));
}

TEST_CASE("a DLPack tensor with a version is a view, to be written where it may be", "[interop]") {
  Foreign given({2, 2, 3, 4});
  Versioned managed;
  managed.dl_tensor = given.tensor;
  interop::dlpack_view<f32, HostSpace>(managed).row(11)[3] = -1;
  CHECK(given.values[47] == -1);
  CHECK(interop::dlpack_heads<f32, HostSpace>(managed).row(1, 2, 1)[3] == -1);
  managed.version.minor = 7;  // of more codes, and no other layout
  managed.flags = 3;          // only to be read, and a copy
  CHECK_THROWS_WITH((interop::dlpack_view<f32, HostSpace>(managed)), Catch::Contains("read-only"));
  CHECK_THROWS_AS((interop::dlpack_heads<f32, HostSpace>(managed)), InputError);
  CHECK(interop::dlpack_view<const f32, HostSpace>(managed).row(11)[3] == -1);
  CHECK(interop::dlpack_heads<const f32, HostSpace>(managed).row(1, 2, 1)[3] == -1);
  managed.flags = 2;
  CHECK_NOTHROW(interop::dlpack_view<f32, HostSpace>(managed));
  managed.version.major = 2;
  CHECK_THROWS_WITH((interop::dlpack_view<const f32, HostSpace>(managed)),
                    Catch::Contains("a tensor of version 2.7"));
}

TEST_CASE("a tensor is given to DLPack with a version", "[interop]") {
  const std::int64_t before = memory_use().in_use;
  HostTensor<f16> tensor(Shape{5});
  const f16* const data = tensor.data();
  Versioned* const managed = interop::to_dlpack<Versioned>(std::move(tensor));
  CHECK(managed->version.major == 1);
  CHECK(managed->flags == 0);
  CHECK(managed->dl_tensor.data == data);
  CHECK(managed->dl_tensor.dtype.bits == 16);
  CHECK(interop::dlpack_view<f16, HostSpace>(*managed).elements() == 5);
  managed->deleter(managed);
  CHECK(memory_use().in_use == before);
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
