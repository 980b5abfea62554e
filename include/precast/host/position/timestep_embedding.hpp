// The kernel of timestep embeddings.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <precast/host/rows/convert.hpp>
#include <precast/host/rows/for_each_row.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/position_kernels.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

/// Cosines and sines of each time, by descending frequency.
template <class Types>
void timestep_embedding(HostView<const f32> times, const TimestepWaves& waves,
                        HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  static_assert(computes_in_f32<Types>, "Position embeddings are computed in f32.");
  const std::int64_t half = out.columns() / 2;
  const std::int64_t cosines = waves.cosines_first ? 0 : half, sines = half - cosines;
  std::vector<f32> frequencies(static_cast<std::size_t>(half));
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    // Each step is rounded to f32, as in the reference: at t = 1000 each rounding changes the angle.
    const f32 exponent = static_cast<f32>(-std::log(10000.0)) * static_cast<f32>(i) /
                         static_cast<f32>(half - waves.frequency_shift);
    frequencies[i] = static_cast<f32>(std::exp(static_cast<double>(exponent)));
  }
  parallel_for_rows(times.elements(), out.columns(), [&](std::int64_t first, std::int64_t end) {
    std::vector<f32> row(static_cast<std::size_t>(out.columns()));  // the last of an odd number stays 0
    for (std::int64_t t = first; t < end; ++t) {
      const f32 time = times.row(t / times.columns())[static_cast<std::size_t>(t % times.columns())];
      for (std::int64_t i = 0; i < half; ++i) {
        const f32 angle = time * frequencies[static_cast<std::size_t>(i)];
        row[static_cast<std::size_t>(cosines + i)] = static_cast<f32>(std::cos(static_cast<double>(angle)));
        row[static_cast<std::size_t>(sines + i)] = static_cast<f32>(std::sin(static_cast<double>(angle)));
      }
      store_row<Types::saturate>(std::span<const f32>(row), out.row(t));
    }
  });
}

}  // namespace precast::host
