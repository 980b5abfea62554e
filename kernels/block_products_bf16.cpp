// Products on the device with weights in blocks of files, of operands in bf16: once for a program, whatever
// its policies.
#include <precast/cuda/matmul/block_product_kernels.hpp>
#include <precast/dtype/blocks/block_formats.hpp>

namespace precast::gpu {
namespace {

const BlockProductsRegistration registered{block_products<bf16, BlockFormats>};

}  // namespace
}  // namespace precast::gpu
