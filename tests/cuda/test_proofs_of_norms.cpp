// The proofs of the kernels that only move numbers: without any one of their barriers, or with any one of
// their faults, their results are wrong. The verdicts stand in docs/kernel_proofs.md.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda/agreement.hpp>
#include <cuda/check_proof.hpp>
#include <support/arrays.hpp>
#include <support/norm_reference.hpp>
#include <support/on_device.hpp>

#include <precast/cuda/gather/embedding.hpp>
#include <precast/cuda/gather/upsample_nearest.hpp>
#include <precast/cuda/norm/group_norm.hpp>
#include <precast/cuda/norm/layer_norm.hpp>
#include <precast/cuda/norm/rms_norm.hpp>
#include <precast/cuda/pointwise/map_values.hpp>
#include <precast/cuda/position/rotary.hpp>
#include <precast/cuda/softmax/softmax.hpp>
#include <precast/host/gather/gather.hpp>
#include <precast/host/norm/group_norm.hpp>
#include <precast/host/norm/norm.hpp>
#include <precast/host/position/rotary.hpp>
#include <precast/host/softmax/softmax.hpp>
#include <precast/policy/presets.hpp>
#include <precast/tensor/indices.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

using F32 = Policy<Storage<f32>>;
using Types = precisions<F32, Norm>;
using Plain = precisions<F32, Pointwise>;
using Turns = precisions<F32, Position>;
constexpr f32 eps = 1e-6f;

// Whole blocks to a row, with two pictures, and lanes to a row.
bool layer_norms_agree() {
  for (const std::int64_t columns : {514, 12}) {
    const auto x = random_tensor<f32>(Shape{2, 3, columns}, 1, 1, 1000);
    const auto scale = random_tensor<f32>(Shape{2, columns}, 2),
               shift = random_tensor<f32>(Shape{2, columns}, 3);
    HostTensor<f32> device(x.shape()), host(x.shape());
    for (const bool one_plus : {false, true}) {
      const AffineIn<f32, DeviceSpace> affine{on_device(scale), on_device(shift), 3, one_plus};
      gpu::layer_norm<Types, f32>(on_device(x), affine, eps, on_device(device));
      host::layer_norm<Types, f32>(
          x.view(), AffineIn<f32, HostSpace>{scale.view(), shift.view(), 3, one_plus}, eps, host);
      if (!agree(device, host)) return false;
    }
  }
  return true;
}

bool rms_norms_agree() {
  for (const std::int64_t width : {514, 12}) {
    const auto x = random_tensor<f32>(Shape{2, 2, 2 * width}, 1);
    const auto weight = random_tensor<f32>(Shape{width}, 2);
    HostTensor<f32> device(x.shape()), host(x.shape());
    host::rms_norm<Types, f32>(x, weight.view(), eps, host);
    gpu::rms_norm<Types, f32>(on_device(x), on_device(weight), eps, on_device(device));
    if (!agree(device, host)) return false;
  }
  return true;
}

bool softmaxes_agree() {
  for (const std::int64_t columns : {514, 12}) {
    const auto x = random_tensor<f32>(Shape{3, columns}, 1, 50, 100);
    HostTensor<f32> device(x.shape()), host(x.shape());
    gpu::softmax<precisions<F32, Softmax>, f32>(on_device(x), on_device(device));
    host::softmax<precisions<F32, Softmax>, f32>(x, host);
    const auto expected = wide(host);
    const auto bound = [&](std::size_t i) { return 500 * unit<f32> * expected[i] + std::exp(-86.0); };
    if (!outside(device, expected, bound).empty()) return false;
  }
  return true;
}

// Groups that fill whole runs and groups that do not, and that lanes go through unevenly; each pixel by a
// thread of its own, and many by one.
bool group_norms_agree() {
  for (const std::int64_t channels : {9, 12, 30}) {
    HostTensor<f32> x = random_tensor<f32>(Shape{2, 30, 9, channels}, 1, 1, 1000);
    for (std::int64_t i = 0; i < 2000; ++i) x.data()[i] -= 100;  // chunks unlike each other
    const auto scale = random_tensor<f32>(Shape{channels}, 2), shift = random_tensor<f32>(Shape{channels}, 3);
    HostTensor<f32> device(x.shape()), of_few_threads(x.shape()), moments(Shape{2 * 3, 4});
    gpu::group_norm<Types, f32>(on_device(x), 3, on_device(scale), on_device(shift), eps,
                                ActivationFunction::none, on_device(device));
    gpu::group_moments<f32>(on_device(x), 3, eps, on_device(moments), gpu::current_stream());
    gpu::detail::group_norm_with<Types, f32, f32>(
        on_device(x), on_device(moments), on_device(scale), on_device(shift), ActivationFunction::none,
        on_device(of_few_threads), gpu::current_stream(), /*least_threads=*/30);
    const auto expected = expected_group_norm(wide(x), 2, channels, 3, wide(scale), wide(shift), double{eps});
    if (!outside(device, expected.values, expected.bound()).empty()) return false;
    if (!same_bits(of_few_threads, device)) return false;
  }
  return true;
}

// Long rows and short ones, a broadcast, a rotation and copies of pixels.
bool maps_agree() {
  const auto exact = [](const HostTensor<f32>& got, const auto& value_at) {
    for (std::int64_t i = 0; i < got.elements(); ++i)
      if (got.data()[i] != value_at(i)) return false;
    return true;
  };
  for (const std::int64_t columns : {3, 9, 2050}) {
    const auto x = random_tensor<f32>(Shape{2, 3, columns}, 1),
               row = random_tensor<f32>(Shape{2, columns}, 2);
    HostTensor<f32> out(x.shape());
    gpu::map_values<Plain>(on_device(out), elementwise::Add{}, on_device(x),
                           RowBroadcast<f32>{on_device(row), 3});
    if (!exact(out, [&](std::int64_t i) {
          return x.data()[i] + row.data()[i / (3 * columns) * columns + i % columns];
        }))
      return false;
  }
  const auto x = random_tensor<f32>(Shape{1, 3, 2, 5}, 1);
  HostTensor<f32> enlarged(Shape{1, 6, 4, 5});
  gpu::upsample_nearest<Types, f32>(on_device(x), 2, on_device(enlarged));
  if (!exact(enlarged, [&](std::int64_t i) { return x.data()[(i / 40 * 2 + i / 5 % 4 / 2) * 5 + i % 5]; }))
    return false;
  // Less its last row and its last column, of two pictures.
  const auto odd = random_tensor<f32>(Shape{2, 2, 2, 5}, 1);
  HostTensor<f32> cut(Shape{2, 3, 3, 5});
  gpu::upsample_nearest<Types, f32>(on_device(odd), 2, on_device(cut));
  if (!exact(cut, [&](std::int64_t i) {
        return odd.data()[((i / 45 * 2 + i / 15 % 3 / 2) * 2 + i / 5 % 3 / 2) * 5 + i % 5];
      }))
    return false;
  const auto turned = random_tensor<f32>(Shape{2, 3, 12}, 1), cos = random_tensor<f32>(Shape{3, 6}, 2),
             sin = random_tensor<f32>(Shape{3, 6}, 3);
  HostTensor<f32> device(turned.shape()), host(turned.shape());
  gpu::rotary<Turns, f32>(on_device(turned), on_device(cos), on_device(sin), on_device(device));
  host::rotary<Turns, f32>(turned, cos, sin, host);
  if (!agree(device, host)) return false;
  // Into bf16, of f32 values that are not rounded to it before.
  using Narrower = precisions<Policy<Storage<f32>, Activation<bf16>>, Position>;
  HostTensor<bf16> device_bf16(turned.shape()), host_bf16(turned.shape());
  gpu::rotary<Narrower, f32>(on_device(turned), on_device(cos), on_device(sin), on_device(device_bf16));
  host::rotary<Narrower, f32>(turned, cos, sin, host_bf16);
  return same_bits(device_bf16, host_bf16);
}

// Of numbers on the device, some of which are no row's.
bool lookups_agree() {
  const std::vector<std::int64_t> numbers{2, -1, 0, 3};
  for (const std::int64_t columns : {5, 301}) {
    const auto table = random_tensor<f32>(Shape{3, columns}, 1);
    HostTensor<f32> device(Shape{4, columns}), host(Shape{4, columns});
    gpu::embedding<Plain, f32>(on_device(table), IndicesIn<std::int64_t, DeviceSpace>{numbers.data(), 4},
                               on_device(device));
    host::embedding<Plain, f32>(table, IndicesIn<std::int64_t, HostSpace>{numbers.data(), 4}, host);
    if (!same_bits(device, host)) return false;
  }
  return true;
}

// Sums and intermediates of f16: the same steps in the same order as the host's, so the same bits.
using Naive = Policy<Storage<f16>, Downcast<Norm, Softmax, Pointwise>>;

bool narrow_norms_agree() {
  using Row = precisions<Naive, Norm>;
  const auto x = random_tensor<f16>(Shape{2, 3, 5, 36}, 1, 2, 3);
  const auto scale = random_tensor<f16>(Shape{6, 36}, 2), shift = random_tensor<f16>(Shape{6, 36}, 3);
  HostTensor<f16> device(x.shape()), host(x.shape());
  gpu::layer_norm<Row, f16>(on_device(x),
                            AffineIn<f16, DeviceSpace>{on_device(scale), on_device(shift), 5, true}, eps,
                            on_device(device));
  host::layer_norm<Row, f16>(x.view(), AffineIn<f16, HostSpace>{scale.view(), shift.view(), 5, true}, eps,
                             host);
  if (!same_bits(device, host)) return false;
  const auto weight = random_tensor<f16>(Shape{18}, 4);
  gpu::rms_norm<Row, f16>(on_device(x), on_device(weight), eps, on_device(device));
  host::rms_norm<Row, f16>(x.view(), weight.view(), eps, host);
  if (!same_bits(device, host)) return false;
  gpu::group_norm<Row, f16>(on_device(x), 2, on_device(scale), on_device(shift), eps,
                            ActivationFunction::silu, on_device(device));
  host::group_norm<Row, f16>(x.view(), 2, std::as_const(scale).view(), std::as_const(shift).view(), eps,
                             ActivationFunction::silu, host);
  return same_bits(device, host);
}

bool narrow_softmaxes_agree() {
  using Row = precisions<Naive, Softmax>;
  const auto x = random_tensor<f16>(Shape{3, 300}, 1, 2);
  HostTensor<f32> device(x.shape()), host(x.shape());
  gpu::softmax<Row, f16>(on_device(x), on_device(device));
  host::softmax<Row, f16>(x, host);
  return same_bits(device, host);
}

bool narrow_maps_agree() {
  using Row = precisions<Naive, Pointwise>;
  const auto x = random_tensor<f16>(Shape{3, 50}, 1, 2);
  HostTensor<f16> device(x.shape()), host(x.shape());
  const elementwise::GatedProduct<elementwise::GeluTanh> function{};
  gpu::map_values<Row>(on_device(device), function, on_device(x), on_device(x));
  for (std::int64_t i = 0; i < x.elements(); ++i) {
    const f32 value = convert_value<f32>(x.data()[i]);
    host.data()[i] = convert_value<f16>(function.in<f16>(value, value));
  }
  return same_bits(device, host);
}

}  // namespace

TEST_CASE("proof of layer_norm", "[norm]") { check_proof("layer norm", layer_norms_agree); }
TEST_CASE("proof of rms_norm", "[norm]") { check_proof("RMS norm", rms_norms_agree); }
TEST_CASE("proof of softmax", "[softmax]") { check_proof("softmax", softmaxes_agree); }
TEST_CASE("proof of group_norm", "[norm]") { check_proof("group norm", group_norms_agree); }
TEST_CASE("proof of narrow norms", "[norm]") { check_proof("narrow norms", narrow_norms_agree); }
TEST_CASE("proof of narrow softmax", "[softmax]") { check_proof("narrow softmax", narrow_softmaxes_agree); }
TEST_CASE("proof of narrow maps", "[pointwise]") {
  check_proof("narrow functions of values", narrow_maps_agree);
}
TEST_CASE("proof of look-ups", "[pointwise]") {
  check_proof("look-ups by numbers on the device", lookups_agree);
}
TEST_CASE("proof of maps", "[pointwise]") { check_proof("pointwise, rotary and upsampling", maps_agree); }
