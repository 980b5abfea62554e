// What decodes rows of each block format as operands in bf16, and multiplies them with few rows: once for a
// program, whatever its policies.
#include <precast/host/block_decoding.hpp>
#include <precast/host/block_dots.hpp>

namespace precast::host {

template DecodeRows<bf16> rows_decoder<bf16>(std::string_view format);
template BlockGemv<bf16> block_gemv_for<bf16>(std::string_view format);

}  // namespace precast::host
