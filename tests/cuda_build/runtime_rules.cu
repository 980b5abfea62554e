// What kernels and ops say to the CUDA runtime, on a machine without a device: fake_runtime.cpp stands in its
// place, and keeps to its rules.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <cuda_build/fake_runtime.hpp>
#include <cuda_runtime_api.h>

#include <precast/cuda/device/launch.hpp>
#include <precast/cuda/device/memory.hpp>
#include <precast/cuda/runtime/arrival.hpp>
#include <precast/cuda/runtime/context.hpp>
#include <precast/cuda/runtime/device.hpp>
#include <precast/cuda/runtime/own_stream.hpp>
#include <precast/cuda/runtime/replay.hpp>
#include <precast/cuda/runtime/staging.hpp>
#include <precast/cuda/runtime/stream.hpp>
#include <precast/cuda/runtime/stream_resources.hpp>
#include <precast/cuda/runtime/workspace.hpp>
#include <precast/tensor/owned_tensor.hpp>

#if __has_include(<dlpack/dlpack.h>)
#include <precast/interop/dlpack.hpp>
#endif

using namespace precast;
using namespace precast::gpu;

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
  std::printf("%s: %s\n", holds ? "yes" : "NO", what);
  failures += !holds;
}

template <class F>
bool throws(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    std::printf("  (%s)\n", error.what());
    return true;
  }
  return false;
}

template <int Number>
PRECAST_KERNEL void shared_kernel(GlobalPointer<int> to) {
  to[0] = dynamic_shared<int>(0, 1)[0] + Number;
}

template <int Number>
void start(std::size_t bytes) {
  launch("shared_kernel", shared_kernel<Number>, {{1}, 32, bytes}, Stream{}, GlobalPointer<int>());
}

void shared_memory() {
  expect(!throws([] { start<0>(48 << 10); }), "48 KiB without static arrays are there without asking");
  expect(fake_runtime::times_asked_for_more() == 0, "nobody has asked");

  fake_runtime::static_bytes = 4 << 10;
  expect(!throws([] { start<1>(46 << 10); }), "46 KiB beside 4 KiB of static arrays are asked for");
  expect(fake_runtime::times_asked_for_more() == 1, "once");
  expect(!throws([] { start<1>(100 << 10); }), "100 KiB by the same kernel are not asked for again");
  expect(fake_runtime::times_asked_for_more() == 1, "they were given");
  expect(!throws([] {
    std::thread([] { start<1>(60 << 10); }).join();
    start<1>(100 << 10);
  }),
         "another thread that takes less takes nothing back");
  expect(throws([] { start<1>(224 << 10); }),
         "more than the device has beside the static arrays is an error");

  fake_runtime::device = 1;
  expect(!throws([] { start<1>(100 << 10); }), "another device is asked for itself");
}

void streams() {
  expect(throws([] { const ContextScope scope(Context{cudaStreamPerThread}); }),
         "a stream that is another one in each thread is refused");
  expect(throws([] { const StreamScope scope(cudaStreamPerThread); }), "as a stream too");
  expect(!throws([] { const ContextScope scope(Context{cudaStreamLegacy}); }), "the default stream is not");
}

void graphs() {
  int runs = 0;
  {
    Replay replay;
    const auto run = [&] { replay([&] { ++runs; }); };
    {
      const OwnStream stream;
      for (int i = 0; i < 4; ++i) run();
    }
    expect(runs == 2 && fake_runtime::graphs() == 1, "a body runs, is recorded, and then replayed");
    expect(fake_runtime::streams() == 1, "a recording keeps its stream");
    {
      const OwnStream stream;
      for (int i = 0; i < 4; ++i) run();
    }
    expect(runs == 4 && fake_runtime::graphs_on_other_streams() == 0, "it begins anew on another stream");
    expect(fake_runtime::streams() == 1, "and lets go of the one before");
  }
  expect(fake_runtime::graphs() == 0 && fake_runtime::streams() == 0, "nothing is left behind");
  expect(fake_runtime::calls_with_ended_streams() == 0, "no stream is named that has ended");
}

/// What a stream has, as workspaces of libraries are.
struct Resource {
  static inline int living = 0;
  explicit Resource(Stream) { ++living; }
  Resource(const Resource&) = delete;
  Resource& operator=(const Resource&) = delete;
  ~Resource() { --living; }
};

void resources_of_recordings() {
  const auto body = [] { (void)resource_of<Resource>(current_stream()); };
  {
    Replay replay;
    Context context;
    {
      const OwnStream stream;
      context = stream.context();
      for (int i = 0; i < 3; ++i) replay(body);
    }
    expect(Resource::living == 1, "what a recording uses of its stream stays when the stream's owner ends");
    with_context(context, [&] { replay(body); });
    expect(fake_runtime::graphs() == 1, "so it can be replayed by whoever has the context");
  }
  expect(Resource::living == 0, "and ends with the recording");
}

/// A program's allocator: what is given back is given to the next who asks.
struct Caching final : MemoryResource {
  alignas(256) std::byte memory[4096];
  std::vector<void*> free;
  std::size_t used = 0;
  void* allocate(std::size_t, Stream) override {
    if (free.empty()) return memory + std::exchange(used, used + 1024);
    void* const block = free.back();
    free.pop_back();
    return block;
  }
  void deallocate(void* block, std::size_t, Stream) noexcept override { free.push_back(block); }
};

void memory_of_recordings() {
  using Values = Tensor<f32, DeviceMemory>;
  Caching cache;
  const ContextScope scope(Context{Stream{}, &cache});
  const OwnStream stream;
  const void* taken = nullptr;
  Replay replay, other, keeps;
  const auto body = [&] { taken = Values(Shape{64}).data(); };
  replay(body);
  const void* const of_cache = taken;
  replay(body);
  const Values living(Shape{64});
  expect(of_cache == living.data() && taken != living.data(),
         "what a recording writes to is not what an allocator gives others");
  const auto in_context = [&] { with_context(stream.context(), body); };
  other(in_context);
  other(in_context);
  expect(taken < cache.memory || taken >= cache.memory + sizeof cache.memory,
         "nor where its ops are given their context");
  Values kept;
  const auto keep = [&] { keeps([&] { kept = Values(Shape{64}); }); };
  keep();
  expect(throws(keep), "a body that keeps the memory of its recording is an error");
}

void many_streams() {
  RecordedArrival arrival(cudaStreamLegacy);
  const auto ask = [&] {
    const OwnStream stream;
    arrival.order_before(stream.context().stream);
  };
  const int before = fake_runtime::waits_of_streams();
  for (int i = 0; i < 40; ++i) ask();
  expect(fake_runtime::waits_of_streams() == before + 40,
         "each of many streams waits for what is on its way");
  fake_runtime::work_is_over = true;
  for (int i = 0; i < 40; ++i) ask();
  expect(fake_runtime::waits_of_streams() == before + 40, "and for nothing once it is there");
  Replay replay;
  const OwnStream stream;
  expect(!throws([&] {
    for (int i = 0; i < 3; ++i)
      replay([&] {
        if (i > 0) arrival.order_before(current_stream());
      });
  }),
         "which recordings may ask for, too");
  fake_runtime::work_is_over = false;
}

void arrivals() {
  RecordedArrival arrival(cudaStreamLegacy), late(cudaStreamLegacy);
  const OwnStream stream;
  Replay replay, second;
  int runs = 0;
  const auto body = [&] {
    ++runs;
    arrival.order_before(current_stream());
  };
  expect(!throws([&] {
    for (int i = 0; i < 4; ++i) replay(body);
  }) && runs == 2,
         "a recording uses what another stream brought");
  expect(fake_runtime::waits_of_streams() == 1, "for which the stream waits once");
  const auto asks_late = [&](bool asks) {
    second([&] {
      if (asks) late.order_before(current_stream());
    });
  };
  asks_late(false);
  expect(throws([&] { asks_late(true); }), "what is first asked for in a recording is an error");
  expect(!throws([&] { asks_late(false); }), "after which the body can be recorded");
}

/// Streams of one handle.
void other_streams() {
  const int before = fake_runtime::waits_of_streams();
  fake_runtime::device = 0;
  RecordedArrival arrival(Stream{});
  arrival.order_before(Stream{});
  expect(fake_runtime::waits_of_streams() == before, "a stream does not wait for what itself brings");
  fake_runtime::device = 1;
  arrival.order_before(Stream{});
  fake_runtime::device = 0;
  expect(fake_runtime::waits_of_streams() == before + 1, "the default stream of another device does");
  fake_runtime::uses_handles_again = true;
  std::optional<OwnStream> stream(std::in_place);
  const Stream handle = current_stream();
  RecordedArrival of_ended(handle);
  stream.reset();
  stream.emplace();
  of_ended.order_before(current_stream());
  expect(current_stream() == handle && fake_runtime::waits_of_streams() == before + 2,
         "and so does a stream with the handle of one that has ended");
  fake_runtime::uses_handles_again = false;
}

void workspaces() {
  const OwnStream stream;
  Replay replay;
  const auto body = [&](std::size_t bytes) {
    replay([&] { (void)resource_of<Workspace>(current_stream())->of(bytes); });
  };
  body(0);
  expect(throws([&] { body(1 << 20); }), "a workspace is not taken while a graph is recorded");
}

void uploads_at_the_end() {
  const f32 value = 1;
  {
    const Context context = [] { return OwnStream().context(); }();
    resource_of<Staging>(context.stream)->upload(nullptr, &value, sizeof value);
  }
  expect(fake_runtime::freed_before_read() == 0,
         "a stream that was used after its OwnStream ended is waited for before its staging is freed");
}

void search() {
  const auto finds = [](bool wanted, const char* reason) {
    const FoundDevice found = find_device();
    std::printf("  (%s)\n", found.reason.c_str());
    return found.device.has_value() == wanted && found.reason.find(reason) != std::string::npos;
  };
  expect(finds(true, "") && find_device().device->free_memory == 1000, "a device is found");
  fake_runtime::starts = false;
  expect(finds(false, "does not start"), "one that does not start is none");
  fake_runtime::starts = true;
  fake_runtime::has_pools = false;
  expect(finds(false, "no memory pools"), "nor is one without pools of memory");
  fake_runtime::has_pools = true;
}

#if __has_include(<dlpack/dlpack.h>)
/// A program's allocator, whose memory nobody touches.
struct alignas(256) Nowhere final : MemoryResource {
  int given_back_on = -1;
  void* allocate(std::size_t, Stream) override { return this; }
  void deallocate(void*, std::size_t, Stream) noexcept override { given_back_on = fake_runtime::device; }
};

void devices() {
  Nowhere memory;
  fake_runtime::device = 1;
  DLManagedTensor* const tensor = with_context({Stream{}, &memory}, [] {
    return interop::to_dlpack(Tensor<f32, DeviceMemory>(Shape{2, 3}));
  });
  fake_runtime::device = 0;
  expect(tensor->dl_tensor.device.device_type == kDLCUDA && tensor->dl_tensor.device.device_id == 1,
         "DLPack is told of the device that a tensor was made on");
  tensor->deleter(tensor);
  expect(memory.given_back_on == 1 && fake_runtime::device == 0,
         "whose memory goes back there, whatever the thread's current device");
}
#else
void devices() {}
#endif

}  // namespace

int main() {
  shared_memory();
  streams();
  graphs();
  arrivals();
  resources_of_recordings();
  memory_of_recordings();
  many_streams();
  other_streams();
  workspaces();
  uploads_at_the_end();
  search();
  devices();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
