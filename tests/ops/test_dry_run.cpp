// Ops in a dry run, whose tensors have no memory: an op that reads or writes one outside of parallel_for ends
// the program.
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>
#include <support/policies.hpp>

#include <precast/memory/dry_run.hpp>
#include <precast/ops/loss.hpp>
#include <precast/ops/reduction.hpp>
#include <precast/ops/sampler.hpp>
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
