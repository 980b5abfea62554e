// wrong_lookups: an embedding's result against the values of its table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/tensor/tensor.hpp>

namespace precast::testing {

/// How many values of `result`, a row for each id, are not the table's, rounded to its dtype once.
template <ScalarDtype A>
std::int64_t wrong_lookups(const HostTensor<A>& result, const HostTensor<f32>& table,
                           std::span<const std::int32_t> ids) {
  std::int64_t wrong = 0;
  for (std::int64_t r = 0; r < result.rows(); ++r)
    for (std::size_t c = 0; c < static_cast<std::size_t>(result.columns()); ++c)
      wrong += to_double(result.view().row(r)[c]) !=
               to_double(convert<A>(table.view().row(ids[static_cast<std::size_t>(r)])[c]));
  return wrong;
}

}  // namespace precast::testing
