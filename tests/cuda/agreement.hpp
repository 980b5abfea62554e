// How the results of a kernel in the emulator and of the host's function are compared in proofs.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include <support/arrays.hpp>
#include <support/norm_reference.hpp>

#include <precast/policy/op_table.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::testing {

using InF32 = OpDtypes<f32, AsGiven, f32, f32, f32>;

/// Whether a kernel's results are the host's, up to the roundings of both in sums of this size.
inline bool agree(const HostTensor<f32>& device, const HostTensor<f32>& host, double size) {
  return outside(device, wide(host), [size](std::size_t) { return 2 * norm_roundings * unit<f32> * size; })
      .empty();
}

/// The same of values whose sums are as large as they are.
inline bool agree(const HostTensor<f32>& device, const HostTensor<f32>& host) {
  const auto expected = wide(host);
  return outside(device, expected,
                 [&](std::size_t i) { return 2 * norm_roundings * unit<f32> * (std::abs(expected[i]) + 1); })
      .empty();
}

/// Columns [0, columns) of rows that are wider.
template <class T>
HostView<const T> slice_of(const HostTensor<T>& x, std::int64_t columns) {
  return x.view().columns_between(0, columns);
}

}  // namespace precast::testing
