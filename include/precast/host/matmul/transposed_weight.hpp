// transposed: packs the weight of a product x W^T for products y W.
#pragma once

#include <cstdint>
#include <type_traits>

#include <precast/host/matmul/block_weight.hpp>
#include <precast/host/matmul/operands.hpp>
#include <precast/host/matmul/packed_weight.hpp>
#include <precast/tensor/shape.hpp>

namespace precast::host {

/// A weight transposed, [columns, features], packed for products with `Types`, whose storage may differ
/// from the weight's: values of blocks are decoded, and rounded to it.
template <class Types, Dtype Storage>
PackedWeight<typename Types::storage> transposed(const PackedWeight<Storage>& weight) {
  using To = typename Types::storage;
  return PackedWeight<To>::template filled<Types>(
      Shape{weight.columns(), weight.features()}, [&](std::int64_t first, HostView<To> rows) {
        for (std::int64_t r = 0; r < rows.rows(); ++r)
          for (std::int64_t f = 0; f < weight.features(); ++f)
            rows.row(r)[static_cast<std::size_t>(f)] = [&] {
              if constexpr (std::is_same_v<To, Storage>)
                return weight.at(f, first + r);
              else
                return convert_value<To, Types::saturate>(weight.at(f, first + r));
            }();
      });
}

}  // namespace precast::host
