// Kernels of norms, as no op runs them: into slices. Their results in all else are tested as the ops', in
// tests/op_cases.
#include <cstdint>

#include <catch2/catch.hpp>
#include <simt/session.hpp>
#include <support/arrays.hpp>
#include <support/norm_reference.hpp>
#include <support/on_device.hpp>
#include <support/policies.hpp>

#include <precast/cuda/norm/layer_norm.hpp>
#include <precast/cuda/norm/rms_norm.hpp>
#include <precast/cuda/runtime/device_copies.hpp>
#include <precast/memory/dry_run.hpp>
#include <precast/ops/norm.hpp>
#include <precast/ops/pointwise.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/policy/policy.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

constexpr f32 eps_of_slices = 1e-6f;

/// The middle of wider rows, so that rows lie apart and `offset` decides whether they are aligned.
template <class T>
struct Slice {
  HostTensor<T> whole;
  HostView<T> view;
  Slice(const Shape& shape, std::int64_t offset, double scale = 1, double mean = 0)
      : whole(random_tensor<T>(shape.with_back(shape.back() + 2 * offset), 17, scale, mean)),
        view(whole.view().columns_between(offset, shape.back())) {}
};

}  // namespace

TEST_CASE("layer_norm of slices, with a modulation for each sample", "[norm]") {
  using Types = precisions<Bf16, Norm>;
  for (const std::int64_t offset : {3, 8}) {
    const Slice<bf16> x(Shape{3, 5, 136}, offset);
    Slice<bf16> out(Shape{3, 5, 136}, offset);
    const HostTensor<bf16> before = out.whole.clone();
    const Slice<f32> scale(Shape{3, 136}, offset), shift(Shape{3, 136}, offset);
    gpu::layer_norm<Types, bf16>(on_device(x.view),
                                 Affine<f32>{on_device(scale.view), on_device(shift.view), 5}, eps_of_slices,
                                 on_device(out.view));
    const auto expected =
        expected_layer_norm(wide(x.view), 136, 5, wide(scale.view), wide(shift.view), double{eps_of_slices});
    INFO("offset " << offset);
    CHECK(outside(out.view, expected.values, expected.bound()) == "");
    CHECK(wide(out.whole.view().columns_between(0, offset)) ==
          wide(before.view().columns_between(0, offset)));
    CHECK(wide(out.whole.view().columns_between(offset + 136, offset)) ==
          wide(before.view().columns_between(offset + 136, offset)));
  }
}

TEMPLATE_TEST_CASE("norms and gates take their parameters as they lie, in one launch", "[norm]", F32, Bf16,
                   Bf16OfE4m3) {
  using P = TestType;
  using A = typename P::activation;
  using S = typename P::storage;
  const Tensor<A> x = sent(random_tensor<A>(Shape{2, 3, 16}, 1)),
                  row = sent(random_tensor<A>(Shape{2, 16}, 2));
  const Tensor<S> weight = sent(random_tensor<S>(Shape{16}, 3));
  const auto launches = [](auto&& op) {
    simt::Session session;
    op();
    return session.launches().size();
  };
  CHECK(launches([&] { layer_norm<P>(x, {.eps = eps_of_slices}); }) == 1);
  CHECK(launches([&] { layer_norm<P>(x, weight, weight, {.eps = eps_of_slices}); }) == 1);
  CHECK(launches([&] { layer_norm_modulate<P>(x, row, row, {.eps = eps_of_slices}); }) == 1);
  CHECK(launches([&] { rms_norm<P>(x, weight, {.eps = eps_of_slices}); }) == 1);
  CHECK(launches([&] { rms_norm_heads<P>(x, weight, {.eps = eps_of_slices}); }) == 1);
  CHECK(launches([&] { gated_add<P>(x, x, row); }) == 1);
  const auto image = x.view().reshaped(Shape{1, 2, 3, 16});
  CHECK(launches([&] { group_norm<P>(image, weight, weight, {.groups = 4, .eps = eps_of_slices}); }) ==
        3);  // moments twice, and values
}

TEST_CASE("a dry run counts what a group norm keeps of its chunks", "[norm]") {
  using P = Policy<Storage<bf16>>;
  const auto values = random_tensor<bf16>({2, 40, 40, 32}, 1), parameters = random_tensor<bf16>({32}, 2);
  const auto run = [&] {
    const Tensor<bf16> x(values.shape(), values.values()), scale(Shape{32}, parameters.values()),
        shift(Shape{32}, parameters.values());
    (void)group_norm<P>(x, scale, shift, {.groups = 8, .eps = 1e-5, .activation = ActivationFunction::silu});
  };
  const std::int64_t before = gpu::memory_use().in_use;
  gpu::reset_peak_memory();
  run();
  const std::int64_t taken = gpu::memory_use().peak - before;
  DryRun dry(DryRun::Counts::device_memory);
  run();
  CHECK(dry.peak() == taken);
  CHECK(taken > 2 * 2 * 40 * 40 * 32 * std::int64_t{sizeof(bf16)});
}
