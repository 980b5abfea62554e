// Dropout on the host.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include <precast/host/rows/for_each_row.hpp>
#include <precast/problem/philox.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

/// x with each value multiplied by 0 or by 1 / (1 - probability), as ops/dropout.hpp says.
template <class Types, class From>
void dropout(HostView<const From> x, f32 probability, std::uint64_t seed, std::uint64_t offset,
             HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  const DropoutMask mask(probability, seed, offset);
  const std::int64_t columns = x.columns();
  for_each_row<Types>(x, out, [&](std::int64_t r, std::span<const f32> row, std::span<f32> computed) {
    const std::int64_t first = r * columns;
    for (std::int64_t i = 0; i < columns;) {
      const PhiloxWords words = mask.words((first + i) / 4);
      for (std::int64_t word = (first + i) % 4; word < 4 && i < columns; ++word, ++i)
        computed[static_cast<std::size_t>(i)] =
            row[static_cast<std::size_t>(i)] * mask.factor_of(words.words[word]);
    }
  });
}

}  // namespace precast::host
