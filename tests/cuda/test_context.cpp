// Ops in a Context: on a stream that is not the thread's, with an allocator that is not the pool.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>
#include <simt/stream.hpp>
#include <support/arrays.hpp>
#include <support/every_op.hpp>
#include <support/policies.hpp>

#include <precast/cuda/runtime/context.hpp>
#include <precast/cuda/runtime/event.hpp>
#include <precast/ops/attention.hpp>
#include <precast/ops/conv.hpp>
#include <precast/ops/embedding_gradient.hpp>
#include <precast/ops/linear.hpp>
#include <precast/ops/matmul.hpp>
#include <precast/ops/norm_gradient.hpp>
#include <precast/ops/rotary_table.hpp>
#include <precast/ops/sampler.hpp>
#include <precast/ops/softmax.hpp>
#include <precast/ops/timestep_embedding.hpp>
#include <precast/ops/training_linear.hpp>
#include <precast/train/optimiser.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// A program's allocator, here of the pool's memory.
class Counting : public gpu::MemoryResource {
 public:
  void* allocate(std::size_t bytes, gpu::Stream stream) override {
    ++blocks;
    most = std::max(most, blocks);
    streams.push_back(stream);
    return gpu::device_pool().allocate(bytes, stream);
  }
  void deallocate(void* block, std::size_t bytes, gpu::Stream stream) noexcept override {
    --blocks;
    streams.push_back(stream);
    gpu::device_pool().deallocate(block, bytes, stream);
  }
  bool only_on(gpu::Stream stream) const {
    return std::all_of(streams.begin(), streams.end(), [&](gpu::Stream s) { return s == stream; });
  }
  int blocks = 0, most = 0;
  std::vector<gpu::Stream> streams;
};

/// `op(context)` on a stream of its own gives the bits of `op()`, takes all of its memory from the context,
/// on its stream, and gives it back there. So does `op()` where the context is the current one.
template <class Op>
void check_in_context(Op&& op, int least_blocks) {
  const auto expected = to_host(op());
  Counting memory;
  const Context context{simt::make_stream(), &memory};
  {
    const auto result = op(context);
    CHECK(memory.blocks == 1);
    CHECK(memory.most >= least_blocks);
    CHECK(same_bits(with_context(context, [&] { return to_host(result); }), expected));
  }
  CHECK(memory.blocks == 0);
  {
    const auto result = with_context(context, [&] { return op(); });
    CHECK(memory.blocks == 1);
  }
  CHECK(memory.only_on(context.stream));
  CHECK_NOTHROW(simt::wait_for_device());
}

template <class T>
Tensor<T> there(const HostTensor<T>& tensor) {
  return Tensor<T>(tensor.shape(), tensor.values());
}

}  // namespace

TEST_CASE("every op runs in the context that it is given, and writes into a view", "[context]") {
  for_every_op<Bf16>([](std::string_view name, const auto& op, const auto& into) {
    INFO(name);
    simt::wait_for_device();  // what the inputs were made of
    check_in_context(op, 1);
    const auto expected = op();
    Tensor<typename std::remove_cvref_t<decltype(expected)>::value_type> out(expected.shape());
    into(out.view(), current_context());
    CHECK(same_bits(to_host(out), to_host(expected)));
    decltype(out) tensor(expected.shape());
    into(tensor, current_context());
    CHECK(same_bits(to_host(tensor), to_host(expected)));
    // What a result held before may still be on its way to it, by another stream.
    using T = typename decltype(out)::value_type;
    simt::wait_for_device();
    auto uploaded_into =
        there(HostTensor<T>(expected.shape(), std::vector<T>(static_cast<std::size_t>(out.elements()))));
    CHECK_NOTHROW(into(uploaded_into, Context{simt::make_stream()}));
    simt::wait_for_device();
    CHECK(same_bits(to_host(uploaded_into), to_host(expected)));
  });
}

TEMPLATE_TEST_CASE("attention runs in the context that it is given", "[context]", Bf16, Bf16Flash) {
  const auto q = there(random_tensor<bf16>({1, 5, 16}, 1)), k = there(random_tensor<bf16>({1, 7, 16}, 2)),
             v = there(random_tensor<bf16>({1, 7, 16}, 3));
  check_in_context(
      [&](const auto&... context) { return attention<TestType>(q, k, v, {.heads = 2}, context...); },
      TestType::flash ? 1 : 2);
}

TEST_CASE("products run in the context that they are given", "[context]") {
  const auto a = there(random_tensor<bf16>({3, 16}, 1)), b = there(random_tensor<bf16>({16, 8}, 2)),
             turned = there(random_tensor<bf16>({8, 16}, 3));
  check_in_context([&](const auto&... context) { return matmul<Bf16>(a, b, context...); }, 2);
  check_in_context([&](const auto&... context) { return matmul_transposed<Bf16>(a, turned, context...); }, 1);
}

TEST_CASE("tables of rotary angles are made in the context that they are given", "[context]") {
  const std::vector<std::int64_t> axes{4, 2};
  const std::vector<f32> ids{0, 0, 1, 2, 3, 1};
  check_in_context([&](const auto&... context) { return rotary_table(axes, 1e4, ids, context...).sin; }, 2);
  const auto frequencies = rotary_frequencies(6, 1e4);
  check_in_context(
      [&](const auto&... context) { return rotary_table_of_halves(frequencies, ids, 1, context...).sin; }, 2);
}

TEST_CASE("ops in a context wait there for tensors that were uploaded on another stream", "[context]") {
  const auto fresh = [] { return there(random_tensor<f32>({3, 16}, 1)); };
  // Each call reads tensors that no stream has waited for yet.
  const auto check = [](auto&& op, const auto&... inputs) {
    const Context context{simt::make_stream()};
    Tensor<f32> out = with_context(context, [] { return Tensor<f32>(Shape{3, 16}); });
    const View<f32> to = with_context(context, [&] { return out.view(); });
    CHECK_NOTHROW(op(context, inputs..., to));
    simt::wait_for_device();  // before the inputs end
  };
  check([](const auto& c, const auto& x, View<f32> to) { combine_into(x, {.divisor = 2}, to, c); }, fresh());
  check([](const auto& c, const auto& x, const auto& y, View<f32> to) { combine_into(x, y, {}, to, c); },
        fresh(), fresh());
  check([](const auto& c, const auto& x, const auto& y, View<f32> to) { guide_into(x, y, 2, to, c); },
        fresh(), fresh());
  check([](const auto& c, const auto& x, const auto& y,
           View<f32> to) { rescale_guidance_into(x, y, 0.5f, to, c); },
        fresh(), fresh());
  check([](const auto& c, const auto& x, const auto& y, View<f32> to) { euler_step_into(x, y, 2, to, c); },
        fresh(), fresh());
  check(
      [](const auto& c, const auto& x, const auto& y, const auto& z, const auto& mask, View<f32> to) {
        repaint_into(x, y, z, mask, {0.5f, 0.25f}, to, c);
      },
      fresh(), fresh(), fresh(), fresh());
  check(
      [](const auto& c, const auto& times, View<f32> to) { timestep_embedding_into<F32>(times, {}, to, c); },
      there(random_tensor<f32>({3}, 1)));
}

TEST_CASE("gradients in a context wait there for what they are added to", "[context]") {
  const auto dy = there(random_tensor<bf16>({4, 8}, 1)), x = there(random_tensor<bf16>({4, 8}, 2)),
             weight = there(random_tensor<bf16>({8}, 3));
  const std::vector<std::int32_t> ids{2, 0, 2, 1};
  simt::wait_for_device();
  const auto zeros = [](const Shape& shape) {
    return there(HostTensor<f32>(shape, std::vector<f32>(static_cast<std::size_t>(shape.elements()))));
  };
  const auto check = [&](auto&& op, auto... outs) {
    CHECK_NOTHROW(op(Context{simt::make_stream()}, outs...));
    CHECK_NOTHROW(simt::wait_for_device());
  };
  const GradientOptions added{.accumulate = true};
  check([&](const auto& c, auto& out) { embedding_gradient_into<Bf16>(dy, ids, added, out, c); },
        zeros({3, 8}));
  check([&](const auto& c, auto& out) { linear_weight_gradient_into<Bf16>(dy, x, added, out, c); },
        zeros({8, 8}));
  check([&](const auto& c, auto& out) { bias_gradient_into<Bf16>(dy, added, out, c); }, zeros({8}));
  check(
      [&](const auto& c, auto& dweight, auto& dbias) {
        Tensor<bf16> dx = with_context(c, [&] { return Tensor<bf16>(x.shape()); });
        layer_norm_gradient_into<Bf16>(dy, x, weight, {.accumulate = true}, dx, dweight, dbias, c);
      },
      zeros({8}), zeros({8}));
}

TEST_CASE("what options and borrowed weights keep is waited for where it is read", "[context]") {
  const auto q = there(random_tensor<bf16>({1, 5, 16}, 1)), k = there(random_tensor<bf16>({1, 7, 16}, 2));
  const auto image = there(random_tensor<bf16>({1, 4, 5, 8}, 3));
  simt::wait_for_device();
  const auto bias = there(random_tensor<f32>({2, 5, 7}, 4));
  CHECK_NOTHROW(attention<Bf16>(q, k, k, {.heads = 2, .bias = bias}, Context{simt::make_stream()}));
  const auto weight = there(random_tensor<bf16>({6, 16}, 5));
  const auto borrowed = LinearWeight<Bf16>::borrowed(weight);
  const auto product = linear<Bf16>(q, borrowed, {}, Context{simt::make_stream()});
  const auto kernel = there(random_tensor<bf16>({4, 3, 3, 8}, 6));
  const auto of_conv = ConvWeight<Bf16>::borrowed(kernel);
  CHECK_NOTHROW(conv2d<Bf16>(image, of_conv, {}, Context{simt::make_stream()}));
  CHECK_NOTHROW(simt::wait_for_device());  // before the inputs end
  CHECK(same_bits(to_host(product), to_host(linear<Bf16>(q, borrowed))));
}

TEST_CASE("an op on a stream that is not ordered behind its input is found", "[context]") {
  const Context first{simt::make_stream()}, second{simt::make_stream()};
  const auto a = there(random_tensor<bf16>({3, 16}, 1)), b = there(random_tensor<bf16>({8, 16}, 2));
  const auto next = there(random_tensor<bf16>({4, 8}, 3));
  const auto product = matmul_transposed<Bf16>(a, b, first);
  CHECK_THROWS_AS(matmul_transposed<Bf16>(product, next, second), simt::Unordered);
  gpu::Event done;
  done.record(first.stream);
  done.order_before(second.stream);
  CHECK_NOTHROW(matmul_transposed<Bf16>(product, next, second));
  CHECK_NOTHROW(simt::wait_for_device());  // before the inputs end
}

TEST_CASE("memory that a program's allocator does not give as it should is an error before a kernel meets it",
          "[context]") {
  struct Careless final : gpu::MemoryResource {
    explicit Careless(std::byte* of) : given(of) {}
    void* allocate(std::size_t, gpu::Stream) override { return given; }
    void deallocate(void* block, std::size_t, gpu::Stream) noexcept override { back = block; }
    std::byte* given;
    void* back = nullptr;
  };
  alignas(256) std::byte memory[512];
  const auto x = sent(random_tensor<f32>({3, 16}, 1));
  const std::int64_t before = gpu::memory_use().in_use;
  Careless none(nullptr), between(memory + 128);
  CHECK_THROWS_AS(softmax<F32>(x, Context{{}, &none}), OutOfMemory);
  CHECK(none.back == nullptr);
  CHECK_THROWS_WITH(softmax<F32>(x, Context{{}, &between}), Catch::Contains("aligned to 256 bytes"));
  CHECK(between.back == between.given);
  CHECK_THROWS_WITH(softmax<F32>(x, Context{{}, nullptr}), Catch::Contains("has no MemoryResource"));
  CHECK(gpu::memory_use().in_use == before);
}

TEST_CASE("the end of a training step runs in the context that it is given", "[context]") {
  const auto start = random_tensor<f32>({3, 700}, 1);
  const train::GradScaler scaler({.init_scale = 1024});
  // Every function on one gradient, its parameter and the moments.
  const auto step = [&](const auto&... context) {
    Tensor<f32> gradient = sent(start), master = sent(start), mean = sent(start), square = sent(start);
    Tensor<bf16> stored(start.shape());
    const std::vector<View<f32>> gradients{gradient.view()};
    const std::vector<AdamWArrays<f32, bf16>> all{{.master = master.view(),
                                                   .gradient = std::as_const(gradient).view(),
                                                   .mean = mean.view(),
                                                   .square = square.view(),
                                                   .stored = stored.view()}};
    simt::wait_for_device();  // of these, which lie in the current context: no function may come back to it
    train::clear(mean.view(), context...);
    train::clear(square.view(), context...);
    const GradientSums sums = train::unscale<f32>(gradients, scaler, context...);
    train::scale_gradients<f32>(gradients, 0.3f, context...);
    train::adamw_step<f32, bf16>(all, AdamWOptions{}, 1, context...);
    simt::wait_for_device();
    return std::pair(to_host(stored), sums.squares);
  };
  const auto expected = step();
  Counting memory;
  const Context context{simt::make_stream(), &memory};
  const auto got = step(context);
  CHECK(same_bits(got.first, expected.first));
  CHECK(got.second == expected.second);
  CHECK_FALSE(memory.streams.empty());
  CHECK(memory.blocks == 0);
  CHECK(memory.only_on(context.stream));
}
