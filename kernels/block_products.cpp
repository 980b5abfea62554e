// Products on the device with weights in blocks of files, for operands of the unit's precision: compiled
// once for a program, whatever its policies.
#include <precast/cuda/matmul/block_product_kernels.hpp>
#include <precast/dtype/blocks/block_formats.hpp>
#include <precast/policy/choice.hpp>

namespace precast::gpu {
namespace {

// A variable of its own, since nvcc 12.0 crashes on both steps in one expression.
constexpr auto precision = precision_named(PRECAST_STAMPED_PRECISION);
using Operand = precision_type<*precision>;

const BlockProductsRegistration registered{block_products<Operand, BlockFormats>};

}  // namespace

template <>
void link_block_products<Operand>() {}

}  // namespace precast::gpu
