// What decodes rows of each block format as operands in f32, and multiplies them with few rows: once for a
// program, whatever its policies.
#include <precast/host/block_decoding.hpp>
#include <precast/host/block_dots.hpp>

namespace precast::host {

template DecodeRows<f32> rows_decoder<f32>(std::string_view format);
template BlockGemv<f32> block_gemv_for<f32>(std::string_view format);

}  // namespace precast::host
