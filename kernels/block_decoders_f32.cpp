// What decodes rows of each block format as operands in f32: once for a program, whatever its policies.
#include <precast/host/block_decoding.hpp>

namespace precast::host {

template DecodeRows<f32> rows_decoder<f32>(std::string_view format);

}  // namespace precast::host
