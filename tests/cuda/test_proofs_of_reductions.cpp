// The proofs of the kernels of reductions and losses: without any one of their barriers, or with any one of
// their faults, a row's field ignored among them, their results are wrong. The verdicts stand in
// docs/kernel_proofs.md.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <cuda/agreement.hpp>
#include <cuda/check_proof.hpp>
#include <support/arrays.hpp>
#include <support/on_device.hpp>

#include <precast/cuda/loss/cross_entropy.hpp>
#include <precast/cuda/loss/mean_squared_error.hpp>
#include <precast/cuda/reduction/reduce_values.hpp>
#include <precast/host/loss/loss.hpp>
#include <precast/host/reduction/reduction.hpp>
#include <precast/policy/op_table.hpp>

using namespace precast;
using namespace precast::testing;

namespace {

// Lanes to a row, a block to a row, and rows in pieces; side by side and apart; each row, and all of them.
bool sums_agree() {
  for (const std::int64_t columns : {12, 514, 8203}) {
    const auto x = random_tensor<f32>(Shape{3, columns + 4}, 1, 1, 3);
    const auto part = slice_of(x, columns);
    HostTensor<f32> device(Shape{3}), host(Shape{3}), device_all{Shape{}}, host_all{Shape{}};
    const double size = 3 * static_cast<double>(columns);
    gpu::reduce_values<InF32, f32>(on_device(part), columns, Reduce::sum, on_device(device));
    host::reduce_values<InF32, f32>(part, columns, Reduce::sum, host);
    if (!agree(device, host, size)) return false;
    gpu::reduce_values<InF32, f32>(on_device(part), part.elements(), Reduce::mean, on_device(device_all));
    host::reduce_values<InF32, f32>(part, part.elements(), Reduce::mean, host_all);
    if (!agree(device_all, host_all, 3)) return false;
    gpu::reduce_values<InF32, f32>(on_device(x), x.elements(), Reduce::mean, on_device(device_all));
    host::reduce_values<InF32, f32>(x.view(), x.elements(), Reduce::mean, host_all);
    if (!agree(device_all, host_all, 3)) return false;
  }
  return true;
}

bool squared_errors_agree() {
  for (const std::int64_t columns : {12, 514, 8203}) {
    const auto x = random_tensor<f32>(Shape{3, columns + 4}, 1), y = random_tensor<f32>(x.shape(), 2);
    const auto a = slice_of(x, columns), b = slice_of(y, columns);
    HostTensor<f32> device{Shape{}}, host{Shape{}};
    gpu::mean_squared_error<InF32, f32, f32>(on_device(a), on_device(b), on_device(device));
    host::mean_squared_error<InF32, f32, f32>(a, b, host);
    if (!agree(device, host, 2)) return false;
    gpu::mean_squared_error<InF32, f32, f32>(on_device(x), on_device(y), on_device(device));
    host::mean_squared_error<InF32, f32, f32>(x.view(), y.view(), host);
    if (!agree(device, host, 2)) return false;
  }
  return true;
}

// One target is ignored; logits beyond what exp can hold.
// Targets that nobody has looked at: rows that are ignored, and one that is no class.
template <class Row, class Alike>
bool unchecked_targets_agree(const HostTensor<f32>& logits, const Alike& alike) {
  HostTensor<f32> device{Shape{}}, host{Shape{}};
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(logits.rows()), 3);
  numbers[1] = -100;
  const auto run = [&] {
    const std::int64_t count = std::ssize(numbers);
    gpu::cross_entropy<Row, f32>(on_device(logits),
                                 UncheckedTargets<std::int64_t, DeviceSpace>{{numbers.data(), count}, -100},
                                 on_device(device));
    host::cross_entropy<Row, f32>(
        logits.view(), UncheckedTargets<std::int64_t, HostSpace>{{numbers.data(), count}, -100}, host);
  };
  run();
  if (!alike(device, host)) return false;
  numbers[2] = logits.columns();
  run();
  return std::isnan(device.data()[0]) && std::isnan(host.data()[0]);
}

bool cross_entropies_agree() {
  for (const std::int64_t classes : {12, 514, 8203}) {
    const auto logits = random_tensor<f32>(Shape{5, classes}, 1, 20, 100);
    const std::vector<std::int32_t> targets{3, no_target, 11, 0, 5};
    HostTensor<f32> device{Shape{}}, host{Shape{}};
    gpu::cross_entropy<InF32, f32>(on_device(logits), targets, on_device(device));
    host::cross_entropy<InF32, f32>(logits.view(), targets, host);
    if (!agree(device, host, 100)) return false;
    if (!unchecked_targets_agree<InF32>(logits,
                                        [](const auto& a, const auto& b) { return agree(a, b, 100); }))
      return false;
  }
  return true;
}

// Sums of f16, intermediates of f16, and both: the same steps in the same order as the host's, so the same
// bits.
template <class Row>
bool narrow_rows_agree() {
  const auto x = random_tensor<f32>(Shape{3, 300}, 1, 2, 3), y = random_tensor<f32>(x.shape(), 2, 2);
  const auto part = slice_of(x, 290), others = slice_of(y, 290);
  HostTensor<f32> device(Shape{3}), host(Shape{3}), device_all{Shape{}}, host_all{Shape{}};
  for (const Reduce reduce : {Reduce::sum, Reduce::mean}) {
    gpu::reduce_values<Row, f32>(on_device(part), 290, reduce, on_device(device));
    host::reduce_values<Row, f32>(part, 290, reduce, host);
    if (!same_bits(device, host)) return false;
  }
  gpu::mean_squared_error<Row, f32, f32>(on_device(part), on_device(others), on_device(device_all));
  host::mean_squared_error<Row, f32, f32>(part, others, host_all);
  if (!same_bits(device_all, host_all)) return false;
  // A difference of 8.3 is another in f16, for 299 terms alike; beside it logits of every size.
  auto logits = random_tensor<f32>(Shape{7, 300}, 3, 2);
  for (std::int64_t c = 0; c < 300; ++c) logits.data()[c] = c == 3 ? 8.3f : 0;
  const std::vector<std::int32_t> few{3, no_target}, more{3, no_target, 11, 0, 299, 5, 6};
  for (const auto& targets : {few, more}) {
    const auto some = logits.view().rows_between(0, static_cast<std::int64_t>(targets.size()));
    gpu::cross_entropy<Row, f32>(on_device(HostView<const f32>(some)), targets, on_device(device_all));
    host::cross_entropy<Row, f32>(HostView<const f32>(some), targets, host_all);
    if (!same_bits(device_all, host_all)) return false;
  }
  return unchecked_targets_agree<Row>(logits, [](const auto& a, const auto& b) { return same_bits(a, b); });
}
bool narrow_reductions_agree() {
  return narrow_rows_agree<OpDtypes<f32, AsGiven, f16, f32, f32>>() &&
         narrow_rows_agree<OpDtypes<f32, AsGiven, f32, f16, f32>>() &&
         narrow_rows_agree<OpDtypes<f32, AsGiven, f16, f16, f32>>();
}

}  // namespace

TEST_CASE("proof of sums and means", "[reduction]") { check_proof("sums and means", sums_agree); }
TEST_CASE("proof of mean_squared_error", "[loss]") {
  check_proof("mean squared error", squared_errors_agree);
}
TEST_CASE("proof of cross_entropy", "[loss]") { check_proof("cross entropy", cross_entropies_agree); }
TEST_CASE("proof of narrow reductions and losses", "[reduction][loss]") {
  check_proof("narrow reductions and losses", narrow_reductions_agree);
}
