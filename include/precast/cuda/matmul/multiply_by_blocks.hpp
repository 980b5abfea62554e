// Products of rows with a weight that the device holds in blocks of a format that its file has chosen.
#pragma once

#include <string>

#include <precast/cuda/matmul/block_products.hpp>
#include <precast/cuda/matmul/held_blocks.hpp>
#include <precast/cuda/matmul/library_operands.hpp>
#include <precast/dtype/dtype.hpp>
#include <precast/error.hpp>
#include <precast/problem/epilogue.hpp>
#include <precast/tensor/view.hpp>

namespace precast::gpu {

/// out = activate(x weight^T + bias). Throws InputError where the blocks were loaded for other dtypes.
template <class Types, class X>
void multiply_by_blocks(const DeviceView<const X>& x, const HeldBlocks& weight, const Epilogue& epilogue,
                        const DeviceView<typename Types::result>& out, Stream stream) {
  if constexpr (multiplies_blocks_of_files<Types>) {
    using Operand = typename Types::operand;
    if (const auto multiply = weight.multipliers.of<Operand>()) {
      const LibraryOperands<Operand, X> rows(x, stream);
      return multiply(BlockProductRequest{.rows = out.rows(),
                                          .columns = x.columns(),
                                          .features = out.columns(),
                                          .x = rows.view().data(),
                                          .x_stride = rows.view().row_stride(),
                                          .weight = weight.memory.data(),
                                          .epilogue = epilogue,
                                          .result = library_dtype<typename Types::result>(),
                                          .out = out.data(),
                                          .out_stride = out.row_stride()},
                      stream);
    }
  }
  throw InputError("a weight in " + std::string(weight.format.name) +
                   ": this program has no product of it in " +
                   std::string(dtype_traits<typename Types::operand>::name) +
                   " on the device: load the layer under the policy that multiplies it");
}

}  // namespace precast::gpu
