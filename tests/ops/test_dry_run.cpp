// Ops in a dry run, whose tensors have no memory: an op that reads or writes one outside of parallel_for ends
// the program.
#include <algorithm>
#include <cstdint>
#include <thread>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <support/policies.hpp>

#include <precast/host/runtime/parallel.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/memory/memory.hpp>
#include <precast/ops/attention_gradient.hpp>
#include <precast/ops/loss.hpp>
#include <precast/ops/norm_gradient.hpp>
#include <precast/ops/reduction.hpp>
#include <precast/ops/sampler.hpp>
#include <precast/ops/training_linear.hpp>
#include <precast/tensor/tensor.hpp>

using namespace precast;
using namespace precast::testing;

TEST_CASE("in a dry run sums of more values than one task adds up read none") {
  constexpr std::int64_t rows = 2, values = 50'000;
  const std::vector<std::int32_t> classes(values, 0);
  DryRun dry;
  Tensor<f32> guided(Shape{rows, values});
  const Tensor<f32> positive(guided.shape()), logits(Shape{values, rows});
  rescale_guidance_into(guided.view(), positive.view(), 0.5f, guided.view());
  CHECK(mean<F32>(guided, Over::last_axis).shape() == Shape{rows});
  CHECK(mean_squared_error<F32>(guided, positive).elements() == 1);
  CHECK(cross_entropy<F32>(logits, classes).elements() == 1);
  CHECK(dry.peak() > 4 * rows * values * std::int64_t{sizeof(f32)});
}

namespace {

/// The scratch of a thread that had none, after `gradients`.
template <class Gradients>
std::int64_t scratch_taken_by(const Gradients& gradients) {
  std::int64_t taken = 0;
  std::thread([&] {
    const std::int64_t before = memory_use().scratch;
    gradients();
    taken = memory_use().scratch - before;
  }).join();
  return taken;
}

/// That of a dry run, after tensors have their memory back.
template <class Gradients>
std::int64_t scratch_counted_of(const Gradients& gradients) {
  DryRun dry;
  gradients();
  dry.restart_peak();
  return dry.peak();
}

}  // namespace

TEST_CASE("a dry run counts the scratch of gradients") {
  constexpr std::int64_t rows = 48, out = 200, in = 300;
  const auto check = [](const auto& gradients) {
    const std::int64_t counted = scratch_counted_of(gradients), taken = scratch_taken_by(gradients);
    CHECK(taken > 0);
    CHECK(counted <= taken);
    CHECK(counted > taken - 2 * 64);  // tiles and oneDNN's, each in whole cache lines
  };
  const int threads = host::threads();
  host::set_threads(1);
  check([&] {
    const Tensor<f32> dy(Shape{rows, out}), x(Shape{rows, in});
    Tensor<f32> weight(Shape{out, in});
    linear_weight_gradient_into<F32>(dy, x, GradientOptions{}, weight.view());
  });
  check([&] {
    const Tensor<bf16> dy(Shape{rows, out}), x(dy.shape()), weight(Shape{out});
    Tensor<training<Bf16>::gradient> dx(x.shape());
    Tensor<training<Bf16>::parameter_gradient> dweight(weight.shape());
    rms_norm_gradient_into<Bf16>(dy, x, weight, NormGradientOptions{}, dx.view(), dweight.view());
  });
  host::set_threads(threads);
}

TEST_CASE("a dry run counts the sums of blocks that a norm's gradient of many rows has") {
  constexpr std::int64_t rows = 10'000, columns = 40, partial_sums = 128;
  const int threads = host::threads();
  host::set_threads(1);
  {
    DryRun dry;
    const Tensor<f32> dy(Shape{rows, columns}), x(dy.shape()), weight(Shape{columns});
    Tensor<f32> dx(dy.shape()), dweight(weight.shape());
    rms_norm_gradient_into<F32>(dy, x, weight, NormGradientOptions{}, dx.view(), dweight.view());
    CHECK(dry.peak() >= 3 * (rows + partial_sums) * columns * std::int64_t{sizeof(f32)});
  }
  host::set_threads(threads);
}

TEST_CASE("attention and its gradients pack no more batches at once than threads need") {
  constexpr std::int64_t batches = 1 << 17;  // of one key each, in blocks of 16
  const auto taken_by = [](const auto& op) {
    DryRun dry;
    const Tensor<f32> x(Shape{batches, 1, 1});
    Tensor<f32> out(x.shape()), log_sums(x.shape());
    op(x, out, log_sums);
    return dry.peak();
  };
  const std::int64_t most =
      std::max<std::int64_t>(std::int64_t{80} << 20, host::threads() * (std::int64_t{1} << 20));
  CHECK(taken_by([](const auto& x, auto& out, auto&) {
          attention_into<F32, WithoutBias>(x, x, x, AttentionOptions{.heads = 1}, out.view());
        }) < most);
  CHECK(taken_by([](const auto& x, auto& out, auto& log_sums) {
          attention_with_log_sums_into<Policy<Storage<f32>, Flash>, WithoutBias>(
              x, x, x, AttentionOptions{.heads = 1}, out.view(), log_sums.view());
        }) < most);
  CHECK(taken_by([](const auto& x, auto& out, auto& log_sums) {
          Tensor<f32> dq(x.shape()), dk(x.shape()), dv(x.shape());
          attention_gradient_into<F32, WithoutBias>(x, x, x, x, out, std::as_const(log_sums).view(),
                                                    AttentionOptions{.heads = 1}, dq.view(), dk.view(),
                                                    dv.view());
        }) < most);
}

TEST_CASE("attention and its gradients of few rows take memory for those, not for a tile") {
  constexpr std::int64_t most = 16 << 10;  // a tile of 128 by 128 has 64 KiB
  const auto taken_by = [](const auto& op) {
    DryRun dry;
    const Tensor<f32> x(Shape{1, 1, 8});
    Tensor<f32> out(x.shape()), log_sums(Shape{1, 1, 1});
    op(x, out, log_sums);
    return dry.peak();
  };
  CHECK(taken_by([](const auto& x, auto& out, auto&) {
          attention_into<F32, WithoutBias>(x, x, x, AttentionOptions{.heads = 1}, out.view());
        }) < most);
  CHECK(taken_by([](const auto& x, auto& out, auto& log_sums) {
          attention_with_log_sums_into<F32Flash, WithoutBias>(x, x, x, AttentionOptions{.heads = 1},
                                                              out.view(), log_sums.view());
        }) < most);
  CHECK(taken_by([](const auto& x, auto& out, auto& log_sums) {
          Tensor<f32> dq(x.shape()), dk(x.shape()), dv(x.shape());
          attention_gradient_into<F32, WithoutBias>(x, x, x, x, out, std::as_const(log_sums).view(),
                                                    AttentionOptions{.heads = 1}, dq.view(), dk.view(),
                                                    dv.view());
        }) < most);
}
