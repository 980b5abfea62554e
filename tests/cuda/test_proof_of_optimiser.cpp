// The proofs of the kernels that end a step of training: without any one of their barriers, or with any one
// of their faults, their results are not the host's.
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda/check_proof.hpp>
#include <support/arrays.hpp>
#include <support/on_device.hpp>

#include <precast/cuda/optimiser/adamw.hpp>
#include <precast/cuda/optimiser/gradient_sums.hpp>
#include <precast/cuda/optimiser/values.hpp>
#include <precast/host/optimiser/optimiser_values.hpp>
#include <precast/host/rows/convert.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

/// More parameters than travel with a launch; one of no values, and one of more than a block takes; the last
/// begins where no run of 16 bytes does.
std::vector<HostTensor<f32>> drawn_f32(std::uint32_t seed, int count, double scale) {
  std::vector<HostTensor<f32>> all;
  for (int i = 0; i < count; ++i) {
    const std::int64_t size = i == 1 ? 0 : i == 2 ? 16384 + 259 : 3 + i % 7;
    all.push_back(random_tensor<f32>(Shape{size}, seed + static_cast<std::uint32_t>(i), scale));
  }
  return all;
}
template <class T>
std::vector<HostTensor<T>> drawn(std::uint32_t seed, int count, double scale = 1) {
  std::vector<HostTensor<T>> all;
  for (const HostTensor<f32>& values : drawn_f32(seed, count, scale)) {
    HostTensor<T>& rounded = all.emplace_back(values.shape());
    host::convert_row<T>(values.values(), rounded.values());
  }
  return all;
}
template <class T>
std::vector<HostTensor<T>> copies_of(const std::vector<HostTensor<T>>& all) {
  std::vector<HostTensor<T>> copies;
  for (const HostTensor<T>& one : all) copies.push_back(one.clone());
  return copies;
}
/// The last without its first value.
template <class T>
std::vector<DeviceView<T>> views_of(std::vector<HostTensor<T>>& all) {
  std::vector<DeviceView<T>> views;
  for (HostTensor<T>& one : all) views.push_back(on_device(one));
  views.back() = views.back().columns_between(1, views.back().columns() - 1);
  return views;
}
template <class T>
std::span<T> values_of(std::vector<HostTensor<T>>& all, std::size_t i) {
  return all[i].values().subspan(i + 1 == all.size() ? 1 : 0);
}
template <class T>
bool are_alike(const std::vector<HostTensor<T>>& a, const std::vector<HostTensor<T>>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_bits(a[i], b[i])) return false;
  return true;
}

template <class T>
bool unscaled_agree(f32 inverse, bool has_inf) {
  auto device = drawn<T>(1, 80, 100);
  if (has_inf) {
    device[2].data()[16390] = convert<T>(std::numeric_limits<f32>::infinity());
    device[79].data()[2] = convert<T>(std::numeric_limits<f32>::quiet_NaN());
  }
  auto host = copies_of(device);
  const auto views = views_of(device);
  const GradientSums found = gpu::unscale_gradients<T>(std::span<const DeviceView<T>>(views), inverse, {});
  GradientSums expected;
  for (std::size_t i = 0; i < host.size(); ++i) {
    expected.non_finite += host::unscale_values(values_of(host, i), inverse);
    expected.squares += host::sum_of_squares(std::span<const T>(values_of(host, i)));
  }
  const bool squares_agree = has_inf ? std::isnan(found.squares)
                                     : std::abs(found.squares - expected.squares) <= 1e-12 * expected.squares;
  return squares_agree && found.non_finite == expected.non_finite && are_alike(device, host);
}
bool all_sums_agree() {
  return unscaled_agree<f32>(0.3f, false) && unscaled_agree<f32>(1.0f, true) &&
         unscaled_agree<f16>(0.3f, true);
}

template <class T>
bool scaled_alike() {
  auto device = drawn<T>(3, 80), host = copies_of(device);
  const auto views = views_of(device);
  gpu::scale_gradients<T>(std::span<const DeviceView<T>>(views), 0.3f, {});
  for (std::size_t i = 0; i < host.size(); ++i) host::scale_values(values_of(host, i), 0.3f);
  return are_alike(device, host);
}
bool scaled_values_agree() {
  auto cleared = drawn<f32>(5, 3);
  gpu::clear_values<f32>(on_device(cleared[2]), {});
  for (const f32 value : cleared[2].values())
    if (value != 0) return false;
  return scaled_alike<f32>() && scaled_alike<f16>();
}

template <class T, class Stored>
bool steps_agree(double weight_decay) {
  constexpr int count = 30;
  auto master = drawn<T>(1, count), mean = drawn<T>(40, count), square = drawn<T>(80, count),
       gradient = drawn<T>(120, count);
  for (auto& one : square)
    for (T& value : one.values()) value = convert<T>(std::abs(convert<f32>(value)));
  std::vector<HostTensor<Stored>> stored = drawn<Stored>(160, count), host_stored = copies_of(stored);
  auto host_master = copies_of(master), host_mean = copies_of(mean), host_square = copies_of(square);
  const auto masters = views_of(master), means = views_of(mean), squares = views_of(square),
             gradients = views_of(gradient);
  const auto storeds = views_of(stored);
  constexpr bool one_copy = std::is_same_v<T, Stored>;
  std::vector<AdamWArrays<T, Stored>> arrays;
  for (std::size_t i = 0; i < masters.size(); ++i)
    arrays.push_back({masters[i], gradients[i], means[i], squares[i],
                      one_copy ? DeviceView<Stored>() : storeds[i], i % 2 == 0});
  const AdamWStep<T> step({.lr = 0.01, .beta1 = 0.8, .eps = 1e-3, .weight_decay = weight_decay}, 3);
  gpu::adamw<T, Stored>(std::span<const AdamWArrays<T, Stored>>(arrays), step, {});
  for (std::size_t i = 0; i < host_master.size(); ++i) {
    host::adamw_values<T>(values_of(host_master, i), std::span<const T>(values_of(gradient, i)),
                          values_of(host_mean, i), values_of(host_square, i), step,
                          i % 2 == 0 && step.decays);
    if constexpr (!one_copy)
      host::convert_row<Stored>(std::span<const T>(values_of(host_master, i)), values_of(host_stored, i));
  }
  return are_alike(master, host_master) && are_alike(mean, host_mean) && are_alike(square, host_square) &&
         are_alike(stored, host_stored);
}
bool all_steps_agree() {
  return steps_agree<f32, f32>(0.1) && steps_agree<f32, bf16>(0.1) && steps_agree<f16, f16>(0);
}

}  // namespace

TEST_CASE("proof of unscaled gradients and their sums", "[optimiser]") {
  check_proof("unscaled gradients and their sums", all_sums_agree);
}
TEST_CASE("proof of gradients scaled and cleared", "[optimiser]") {
  check_proof("gradients scaled and cleared", scaled_values_agree);
}
TEST_CASE("proof of AdamW", "[optimiser]") { check_proof("AdamW", all_steps_agree); }
