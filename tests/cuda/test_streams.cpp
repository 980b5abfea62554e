// Ops that are given another stream than the thread's current one: their scratch memory belongs to the stream
// they run on.
#include <utility>

#include <catch2/catch.hpp>
#include <cuda/host_library.hpp>
#include <cuda/product_runs.hpp>
#include <simt/stream.hpp>

#include <precast/cuda/norm/group_norm.hpp>
#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/cuda/runtime/own_stream.hpp>
#include <precast/cuda/runtime/replay.hpp>
#include <precast/cuda/runtime/workspace.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// Waits for everything: what could not be thrown where it happened is thrown here.
void finish() { simt::wait_for_device(); }

}  // namespace

TEST_CASE("group norm's moments belong to the stream that it is given", "[stream]") {
  const gpu::Stream stream = simt::make_stream();
  const HostTensor<f32> x = random_tensor<f32>({1, 4, 4, 8}, 1);
  const HostTensor<f32> scale = random_tensor<f32>({8}, 2), shift = random_tensor<f32>({8}, 3);
  HostTensor<f32> out({1, 4, 4, 8});
  gpu::group_norm<precisions<F32, Norm>, f32>(on_device(x), 2, on_device(scale), on_device(shift), 1e-6f,
                                              ActivationFunction::none, on_device(out), stream);
  CHECK_NOTHROW(finish());
}

TEST_CASE("the copies that a library multiplies belong to the stream that it is given", "[stream]") {
  const gpu::Stream stream = simt::make_stream();
  HostLibrary host;
  const gpu::LibraryScope scope(host.library());
  using Types = precisions<Policy<Storage<bf16>>, Matmul>;
  const HostTensor<bf16> x = random_tensor<bf16>({20, 64}, 1), weight = random_tensor<bf16>({40, 64}, 2);
  const HostTensor<f32> bias = random_tensor<f32>({40}, 3);
  HostTensor<bf16> out({20, 40});
  gpu::matmul_transposed<Types, bf16>(on_device(x), on_device(weight),
                                      Epilogue{on_device(bias), ActivationFunction::none}, on_device(out),
                                      stream);
  REQUIRE(host.multiplied.size() == 1);
  CHECK_NOTHROW(finish());
}

TEST_CASE("a replay begins anew on another stream, whose workspaces it has not", "[stream]") {
  gpu::Replay replay;
  const f32 value = 1;
  // What a recording must not do shows whether a run is one.
  const auto run = [&] {
    replay([&] {
      BufferIn<gpu::DeviceMemory> buffer(sizeof value);
      buffer.upload(0, &value, sizeof value);
    });
  };
  {
    const gpu::OwnStream stream;
    CHECK_NOTHROW(run());
    CHECK_THROWS_WITH(run(), Catch::Contains("part of a CUDA graph"));
  }
  {
    const gpu::OwnStream stream;
    CHECK_NOTHROW(run());
    CHECK_THROWS_WITH(run(), Catch::Contains("part of a CUDA graph"));
  }
  CHECK_NOTHROW(finish());
}

TEST_CASE("a replay's body has memory of its graph, and keeps none of it", "[stream]") {
  struct Counting final : gpu::MemoryResource {
    explicit Counting(bool graphs = false) : of_graphs(graphs) {}
    bool of_graphs;
    int blocks = 0;
    bool gives_memory_of_graphs() const noexcept override { return of_graphs; }
    void* allocate(std::size_t bytes, gpu::Stream stream) override {
      ++blocks;
      return gpu::device_pool().allocate(bytes, stream);
    }
    void deallocate(void* block, std::size_t bytes, gpu::Stream stream) noexcept override {
      gpu::device_pool().deallocate(block, bytes, stream);
    }
  } memory, of_graphs(true);
  const auto scratch = [] { const BufferIn<gpu::DeviceMemory> block(64); };
  {
    const gpu::ContextScope scope({gpu::Stream{}, &of_graphs});
    gpu::Replay replay;
    for (int run = 1; run <= 3; ++run) {
      replay(scratch);
      CHECK(of_graphs.blocks == run);
    }
  }
  const gpu::ContextScope scope({gpu::Stream{}, &memory});
  const gpu::OwnStream stream;
  gpu::Replay replay, keeps;
  for (int run = 0; run < 3; ++run) {
    replay(scratch);
    CHECK(memory.blocks == 1);
  }
  BufferIn<gpu::DeviceMemory> kept;
  const auto keep = [&] { kept = BufferIn<gpu::DeviceMemory>(64); };
  CHECK_NOTHROW(keeps(keep));
  CHECK_THROWS_WITH(keeps(keep), Catch::Contains("keeps memory that it allocated"));
  CHECK_NOTHROW(finish());
}

TEST_CASE("a workspace is not taken while a graph is recorded", "[stream]") {
  const gpu::OwnStream stream;
  gpu::Workspace workspace(gpu::current_stream());
  simt::begin_recording(gpu::current_stream());
  CHECK_THROWS_WITH(workspace.of(64), Catch::Contains("as part of a CUDA graph: run"));
  simt::end_recording(gpu::current_stream());
  CHECK(workspace.of(64));
}

TEST_CASE("a dry run counts a graph's memory for as long as its Replay lives") {
  const DryRun dry(DryRun::Counts::device_memory);
  const Shape shape{1 << 18};
  constexpr std::int64_t bytes = 1 << 20;
  {
    gpu::Replay replay;
    for (int run = 0; run < 3; ++run)
      replay([&] {
        const Tensor<f32> scratch(shape);
        DryRun::active()->kept<gpu::Replay>(bytes, DryRun::Counts::device_memory);
      });
    CHECK(dry.peak() == 2 * bytes);  // neither twice
    const Tensor<f32> beside(shape);
    CHECK(dry.peak() == 3 * bytes);
  }
  CHECK(dry.in_use() == 0);
}
