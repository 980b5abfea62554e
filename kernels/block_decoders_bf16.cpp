// What decodes rows of each block format as operands in bf16: once for a program, whatever its policies.
#include <precast/host/block_decoding.hpp>

namespace precast::host {

template DecodeRows<bf16> rows_decoder<bf16>(std::string_view format);

}  // namespace precast::host
