// The proofs of the kernels of gradients: without any one of their barriers, or with any one of their faults,
// a row's field ignored among them, their results are wrong. The verdicts stand in docs/kernel_proofs.md.
#include <cstdint>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda/agreement.hpp>
#include <cuda/check_proof.hpp>
#include <support/arrays.hpp>
#include <support/on_device.hpp>

#include <precast/cuda/gather/embedding_gradient.hpp>
#include <precast/cuda/loss/cross_entropy_gradient.hpp>
#include <precast/cuda/matmul/product_gradient.hpp>
#include <precast/cuda/norm/norm_gradient.hpp>
#include <precast/cuda/pointwise/dropout.hpp>
#include <precast/cuda/pointwise/gated_product_gradient.hpp>
#include <precast/cuda/position/rotation.hpp>
#include <precast/cuda/reduction/sum_of_rows.hpp>
#include <precast/host/gather/embedding_gradient.hpp>
#include <precast/host/loss/loss_gradient.hpp>
#include <precast/host/norm/norm_gradient.hpp>
#include <precast/host/pointwise/dropout.hpp>
#include <precast/host/pointwise/pointwise_gradient.hpp>
#include <precast/host/position/rotary.hpp>
#include <precast/host/reduction/sum_of_rows.hpp>
#include <precast/policy/op_table.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// Sums of f16, and intermediates of f16: the same steps in the same order as the host's, so the same bits.
using NarrowSums = OpDtypes<f32, AsGiven, f16, f32, f32>;
using NarrowSteps = OpDtypes<f32, AsGiven, f32, f16, f32>;

template <class Types>
bool as_alike(const HostTensor<f32>& device, const HostTensor<f32>& host, double size) {
  return is_narrow<Types> ? same_bits(device, host) : agree(device, host, size);
}

// Runs in rows that lie apart, a mean that f32 does not hold; more rows than there are partial sums.
template <class Types>
bool norm_gradients_agree(std::int64_t rows, std::int64_t columns, std::int64_t run, double mean) {
  const auto x = random_tensor<f32>(Shape{rows, columns + 3}, 1, 1, mean),
             dy = random_tensor<f32>(x.shape(), 2);
  const auto in = slice_of(x, columns), gradient = slice_of(dy, columns);
  const auto weight = random_tensor<f32>(Shape{run}, 3, 0.5, 1);
  const Shape shape{rows, columns};
  HostTensor<f32> device(shape), host(shape), device_rms(shape), host_rms(shape);
  for (const bool accumulate : {true, false}) {
    const GradientOptions options{accumulate};
    auto device_weight = random_tensor<f32>(Shape{run}, 4, 30),
         device_bias = random_tensor<f32>(Shape{run}, 5, 30);
    HostTensor<f32> host_weight = device_weight.clone(), host_bias = device_bias.clone();
    if (run == columns) {
      gpu::layer_norm_gradient<Types, f32, f32, f32, f32>(
          on_device(gradient), on_device(in), on_device(weight), 1e-5f, options, on_device(device),
          on_device(device_weight), on_device(device_bias), {});
      host::layer_norm_gradient<Types, f32, f32, f32, f32>(gradient, in, weight.view(), 1e-5f, options, host,
                                                           host_weight.view(), host_bias.view());
      if (!as_alike<Types>(device, host, 3) || !as_alike<Types>(device_weight, host_weight, 100) ||
          !as_alike<Types>(device_bias, host_bias, 100))
        return false;
    }
    gpu::rms_norm_gradient<Types, f32, f32, f32, f32>(on_device(gradient), on_device(in), on_device(weight),
                                                      1e-5f, options, on_device(device_rms),
                                                      on_device(device_weight), {});
    host::rms_norm_gradient<Types, f32, f32, f32, f32>(gradient, in, weight.view(), 1e-5f, options, host_rms,
                                                       host_weight.view());
    if (!as_alike<Types>(device_rms, host_rms, 3) || !as_alike<Types>(device_weight, host_weight, 100))
      return false;
  }
  return true;
}
template <class Types>
bool sums_of_rows_agree() {
  const auto dy = random_tensor<f32>(Shape{300, 14}, 1, 3);
  const auto part = slice_of(dy, 11);
  for (const std::int64_t repeated : {1, 4}) {
    auto device = random_tensor<f32>(Shape{repeated, 11}, 2);
    HostTensor<f32> host = device.clone();
    gpu::sum_of_rows<Types, f32>(on_device(part), GradientOptions{true}, on_device(device), {});
    host::sum_of_rows<Types, f32>(part, GradientOptions{true}, host);
    if (!as_alike<Types>(device, host, 300)) return false;
  }
  return true;
}
bool norms_and_biases_agree() {
  return norm_gradients_agree<InF32>(5, 140, 140, 30000) && norm_gradients_agree<InF32>(2, 12, 4, 1) &&
         norm_gradients_agree<NarrowSums>(3, 140, 140, 1) &&
         norm_gradients_agree<NarrowSteps>(3, 140, 140, 1) &&
         norm_gradients_agree<NarrowSums>(140, 4, 2, 1) && norm_gradients_agree<NarrowSteps>(2, 12, 4, 1) &&
         sums_of_rows_agree<InF32>() && sums_of_rows_agree<NarrowSums>();
}

template <class Types>
bool gated_products_agree(std::int64_t columns) {
  const auto dy = random_tensor<f32>(Shape{3, columns + 3}, 1), a = random_tensor<f32>(dy.shape(), 2, 2),
             b = random_tensor<f32>(dy.shape(), 3);
  const Shape shape{3, columns};
  HostTensor<f32> device_a(shape), device_b(shape), host_a(shape), host_b(shape);
  gpu::gated_product_gradient<Types, elementwise::Silu, f32, f32, f32>(
      on_device(slice_of(dy, columns)), on_device(slice_of(a, columns)), on_device(slice_of(b, columns)),
      on_device(device_a), on_device(device_b), {});
  host::gated_product_gradient<Types, elementwise::Silu, f32, f32, f32>(
      slice_of(dy, columns), slice_of(a, columns), slice_of(b, columns), host_a, host_b);
  return agree(device_a, host_a, 1) && agree(device_b, host_b, 1);
}
bool dropouts_agree(std::int64_t columns) {
  const auto x = random_tensor<f32>(Shape{5, columns + 3}, 1);
  HostTensor<f32> device(Shape{5, columns}), host(device.shape());
  gpu::dropout<InF32, f32>(on_device(slice_of(x, columns)), 0.5f, 1, 2, on_device(device), {});
  host::dropout<InF32, f32>(slice_of(x, columns), 0.5f, 1, 2, host);
  return same_bits(device, host);
}
bool rotations_agree() {
  using Turned = OpDtypes<f32, f32, f32, f32, f32>;
  const auto x = random_tensor<f32>(Shape{2, 5, 24}, 1), cos = random_tensor<f32>(Shape{5, 8}, 2),
             sin = random_tensor<f32>(Shape{5, 8}, 3);
  HostTensor<f32> device(x.shape()), host(x.shape());
  for (const RotaryPairs pairs : {RotaryPairs::halves, RotaryPairs::neighbours})
    for (const bool inverse : {false, true}) {
      const Rotation rotation{pairs, inverse};
      gpu::rotate<Turned, f32>(on_device(x), on_device(cos), on_device(sin), rotation, on_device(device), {});
      host::rotate<Turned, f32>(x.view(), cos.view(), sin.view(), rotation, host);
      if (!same_bits(device, host)) return false;
    }
  return true;
}
// Gradients that are stored or added, in rows that lie apart.
bool stores_agree() {
  const auto gradients = random_tensor<f32>(Shape{3, 13}, 1);
  for (const std::int64_t columns : {13, 10}) {
    const auto there = random_tensor<f32>(Shape{3, 13}, 2);
    for (const bool accumulate : {true, false}) {
      HostTensor<f32> device = there.clone(), host = there.clone();
      const auto out = device.view().columns_between(0, columns);
      gpu::detail::store_gradients<false>(on_device(slice_of(gradients, columns)), accumulate, on_device(out),
                                          {});
      for (std::int64_t r = 0; r < 3; ++r)
        for (std::int64_t c = 0; c < columns; ++c)
          host.data()[r * 13 + c] =
              (accumulate ? there.data()[r * 13 + c] : 0.0f) + gradients.data()[r * 13 + c];
      if (!same_bits(device, host)) return false;
    }
  }
  return true;
}
bool values_agree() {
  return gated_products_agree<InF32>(13) && gated_products_agree<NarrowSteps>(130) && dropouts_agree(13) &&
         rotations_agree() && stores_agree();
}

// One target is ignored; logits beyond what exp can hold.
template <class Types>
bool cross_entropy_gradients_agree() {
  for (const std::int64_t classes : {12, 514}) {
    const auto logits =
        random_tensor<f32>(Shape{5, classes}, 1, is_narrow<Types> ? 2 : 20, is_narrow<Types> ? 0 : 100);
    const std::vector<std::int32_t> targets{3, no_target, 11, 0, 5};
    HostTensor<f32> device(logits.shape()), host(logits.shape());
    gpu::cross_entropy_gradient<Types, f32>(on_device(logits), targets, 3.0f, on_device(device), {});
    host::cross_entropy_gradient<Types, f32>(logits.view(), targets, 3.0f, host);
    if (!as_alike<Types>(device, host, 3)) return false;
    // Of targets that nobody has looked at: one is no class.
    const std::vector<std::int64_t> numbers{3, -100, classes, 0, 5};
    gpu::cross_entropy_gradient<Types, f32>(
        on_device(logits), UncheckedTargets<std::int64_t, DeviceSpace>{{numbers.data(), 5}, -100}, 3.0f,
        on_device(device), {});
    host::cross_entropy_gradient<Types, f32>(
        logits.view(), UncheckedTargets<std::int64_t, HostSpace>{{numbers.data(), 5}, -100}, 3.0f, host);
    for (HostTensor<f32>* const result : {&device, &host})
      for (f32& value : result->view().row(2)) {
        if (!std::isnan(value)) return false;
        value = 0;
      }
    if (!as_alike<Types>(device, host, 3)) return false;
  }
  return true;
}
bool losses_agree() {
  return cross_entropy_gradients_agree<InF32>() && cross_entropy_gradients_agree<NarrowSums>() &&
         cross_entropy_gradients_agree<NarrowSteps>();
}

// More terms than a launch takes along.
template <class Types>
bool embedding_gradients_agree() {
  const auto dy = random_tensor<f32>(Shape{450, 3}, 1);
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < 450; ++i) ids.push_back(i * i % 7);
  for (const bool accumulate : {true, false}) {
    auto device = random_tensor<f32>(Shape{8, 3}, 2);
    HostTensor<f32> host = device.clone();
    gpu::embedding_gradient<Types, f32>(on_device(dy), ids, GradientOptions{accumulate}, on_device(device),
                                        {});
    host::embedding_gradient<Types, f32>(dy.view(), ids, GradientOptions{accumulate}, host);
    if (!same_bits(device, host)) return false;
    // Of ids that nobody has looked at, some of which are no rows.
    const std::vector<std::int64_t> numbers{2, -1, 8, 2, 0, std::int64_t{1} << 40};
    const auto some = dy.view().rows_between(0, 6);
    gpu::embedding_gradient<Types, f32>(on_device(HostView<const f32>(some)),
                                        IndicesIn<std::int64_t, DeviceSpace>{numbers.data(), 6},
                                        GradientOptions{accumulate}, on_device(device), {});
    host::embedding_gradient<Types, f32>(HostView<const f32>(some),
                                         IndicesIn<std::int64_t, HostSpace>{numbers.data(), 6},
                                         GradientOptions{accumulate}, host);
    if (!same_bits(device, host)) return false;
  }
  return true;
}
bool tables_agree() { return embedding_gradients_agree<InF32>() && embedding_gradients_agree<NarrowSums>(); }

}  // namespace

TEST_CASE("proof of gradients of norms and biases", "[gradient][many_runs]") {
  check_proof("gradients of norms and biases", norms_and_biases_agree);
}
TEST_CASE("proof of gradients of values", "[gradient]") { check_proof("gradients of values", values_agree); }
TEST_CASE("proof of the gradient of cross_entropy", "[gradient]") {
  check_proof("gradient of the cross entropy", losses_agree);
}
TEST_CASE("proof of the gradient of embedding", "[gradient]") {
  check_proof("gradient of an embedding's table", tables_agree);
}
