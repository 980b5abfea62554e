// Memory of device tensors goes back in the order of the stream that took it, wherever its owner dies, and
// what the host sent is there for every stream.
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/session.hpp>
#include <simt/stream.hpp>

#include <precast/cuda/device/access.hpp>
#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/matmul/packed_weight.hpp>
#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/cuda/runtime/event.hpp>
#include <precast/cuda/runtime/own_stream.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>
#include <precast/tensor/tensor.hpp>

using namespace precast;

namespace {

using DeviceTensor = Tensor<f32, gpu::DeviceMemory>;

void fill_kernel(gpu::GlobalPointer<f32> to, f32 value) { to[gpu::thread_index()] = value; }
void copy_kernel(gpu::GlobalPointer<const f32> from, gpu::GlobalPointer<f32> to) {
  to[gpu::thread_index()] = from[gpu::thread_index()];
}

void fill(DeviceTensor& tensor, f32 value) {
  gpu::launch("fill", fill_kernel, {{1, 1, 1}, static_cast<int>(tensor.elements()), 0}, gpu::current_stream(),
              gpu::pointer_to(tensor.view()), value);
}
DeviceTensor copy_of(DeviceView<const f32> from) {
  DeviceTensor to(from.shape());
  gpu::launch("copy", copy_kernel, {{1, 1, 1}, static_cast<int>(from.elements()), 0}, gpu::current_stream(),
              gpu::pointer_to(from), gpu::pointer_to(to.view()));
  return to;
}
std::vector<f32> values_of(const DeviceTensor& tensor) {
  const HostTensor<f32> there = to_host(tensor);
  return {there.values().begin(), there.values().end()};
}

/// A program's allocator: it hands the pool's memory on, and keeps account of who asks on which stream.
class Counting : public gpu::MemoryResource {
 public:
  void* allocate(std::size_t bytes, gpu::Stream stream) override {
    taken.push_back(stream);
    in_use += bytes;
    return gpu::device_pool().allocate(bytes, stream);
  }
  void deallocate(void* block, std::size_t bytes, gpu::Stream stream) noexcept override {
    given_back.push_back(stream);
    in_use -= bytes;
    gpu::device_pool().deallocate(block, bytes, stream);
  }
  std::vector<gpu::Stream> taken, given_back;
  std::size_t in_use = 0;
};

const std::vector<f32> three_values{1, 2, 3};

}  // namespace

TEST_CASE("a tensor that dies after its stream's scope goes back to that stream", "[memory]") {
  const gpu::Stream a = simt::make_stream(), b = simt::make_stream();
  Counting memory;
  std::optional<DeviceTensor> tensor;
  {
    const gpu::ContextScope scope({a, &memory});
    tensor.emplace(Shape{4});
    fill(*tensor, 1);
  }
  SECTION("outside of every scope") { CHECK_NOTHROW(tensor.reset()); }
  SECTION("in another stream's") {
    const gpu::StreamScope scope(b);
    CHECK_NOTHROW(tensor.reset());
  }
  SECTION("on another thread") {
    std::thread([&] { tensor.reset(); }).join();
    CHECK(!tensor);
  }
  SECTION("moved from") {
    const gpu::StreamScope scope(b);
    DeviceTensor other({8});
    other = std::move(*tensor);
    CHECK_NOTHROW(tensor.reset());
  }
  CHECK(memory.taken == std::vector{a});
  CHECK(memory.given_back == std::vector{a});
  CHECK(memory.in_use == 0);
  CHECK_NOTHROW(simt::wait_for_device());
}

TEST_CASE("a stream is there until its last memory has been given back", "[memory]") {
  std::optional<DeviceTensor> tensor;
  {
    const gpu::OwnStream stream;
    tensor.emplace(Shape{3}, three_values);
    fill(*tensor, 7);
  }
  CHECK(values_of(*tensor) == std::vector<f32>{7, 7, 7});
  tensor.reset();
  CHECK_NOTHROW(simt::wait_for_device());
}

TEST_CASE("a result of another stream is waited for on its way to the host", "[memory]") {
  const gpu::Stream stream = simt::make_stream();
  const auto result = gpu::with_context({stream}, [] {
    DeviceTensor tensor({3});
    fill(tensor, 7);
    return tensor;
  });
  CHECK(values_of(result) == std::vector<f32>{7, 7, 7});
  const gpu::OwnStream another;
  CHECK(values_of(result) == std::vector<f32>{7, 7, 7});
}

TEST_CASE("a context keeps the stream that an OwnStream made", "[memory]") {
  std::optional<gpu::Context> context;
  {
    const gpu::OwnStream stream;
    context = stream.context();
  }
  const auto values = gpu::with_context(*context, [] { return values_of(DeviceTensor({3}, three_values)); });
  CHECK(values == three_values);
  const gpu::Stream handle = context->stream;
  context.reset();
  CHECK_THROWS_AS(gpu::device_pool().allocate(1, handle), simt::Unordered);
}

TEST_CASE("a context is the thread's own, and scopes nest", "[memory]") {
  const gpu::Stream a = simt::make_stream(), b = simt::make_stream();
  Counting memory;
  const gpu::ContextScope outer({a, &memory});
  gpu::with_context({b}, [&] {
    CHECK(gpu::current_stream() == b);
    CHECK(gpu::current_context().memory == &gpu::device_pool());
    const gpu::StreamScope inner(a);
    CHECK(gpu::current_stream() == a);
  });
  CHECK(gpu::current_stream() == a);
  CHECK(gpu::current_context().memory == &memory);
  std::thread([] { CHECK(gpu::current_stream() == gpu::Stream{}); }).join();
}

TEST_CASE("a weight that one stream brings is there for every other, which waits for it once", "[memory]") {
  const gpu::Stream a = simt::make_stream(), b = simt::make_stream();
  const auto used_by = [](const DeviceTensor& weight, gpu::Stream stream) {
    return gpu::with_context({stream}, [&] { return values_of(copy_of(weight.view())); });
  };
  const auto run = [&] {
    const auto weight = gpu::with_context({a}, [] { return DeviceTensor({3}, three_values); });
    bool right = true;
    for (const gpu::Stream stream : {b, a, b}) right &= used_by(weight, stream) == three_values;
    return right;
  };
  {
    const simt::Session session(simt::Options{.copies = simt::Copies::late});
    CHECK(run());
    simt::wait_for_device();
    CHECK(session.stream_waits() == 1);
  }
  // The test would fail without the wait.
  simt::Options hasty;
  hasty.streams_wait = false;
  const simt::Session session(hasty);
  CHECK_THROWS_AS(run(), simt::Unordered);
  simt::wait_for_device();
}

TEST_CASE("a packed weight is there for a second stream too", "[memory]") {
  const gpu::Stream a = simt::make_stream(), b = simt::make_stream();
  using Types = precisions<Policy<Storage<f32>>, Matmul>;
  const auto weight = gpu::with_context({a}, [] {
    return gpu::PackedWeight<f32>::filled<Types>({2, 3}, [](std::int64_t, HostView<f32> rows) {
      for (std::int64_t i = 0; i < 6; ++i)
        rows.row(i / 3)[static_cast<std::size_t>(i % 3)] = static_cast<f32>(i + 1);
    });
  });
  const auto second =
      gpu::with_context({b}, [&] { return values_of(copy_of(weight.view().rows_between(1, 1))); });
  CHECK(second == std::vector<f32>{4, 5, 6});
  simt::wait_for_device();
}

TEST_CASE("a packed weight that a kernel writes is there for a second stream", "[memory]") {
  const gpu::Stream a = simt::make_stream(), b = simt::make_stream();
  const auto weight = gpu::with_context({a}, [] {
    return gpu::PackedWeight<f32>::written({1, 3}, [](DeviceView<f32> to) {
      gpu::launch("fill", fill_kernel, {{1, 1, 1}, 3, 0}, gpu::current_stream(), gpu::pointer_to(to), 5.0f);
    });
  });
  const auto second =
      gpu::with_context({b}, [&] { return values_of(copy_of(weight.view().rows_between(0, 1))); });
  CHECK(second == std::vector<f32>{5, 5, 5});
  simt::wait_for_device();
}

TEST_CASE("values cannot be uploaded as part of a CUDA graph", "[memory]") {
  const gpu::OwnStream stream;
  simt::begin_recording(gpu::current_stream());
  CHECK_THROWS_WITH(DeviceTensor({3}, three_values), Catch::Matchers::Contains("as part of a CUDA graph"));
  simt::end_recording(gpu::current_stream());
  CHECK_NOTHROW(DeviceTensor({3}, three_values));
}
