// Decoders of rows of each block format to the unit's dtype, and their products in skinny GEMMs: compiled
// once for a program, whatever its policies.
#include <precast/host/blocks/block_decoding.hpp>
#include <precast/host/blocks/block_dots.hpp>
#include <precast/policy/choice.hpp>

namespace precast::host {

using Decoded = precision_type<*precision_named(PRECAST_STAMPED_PRECISION)>;

template DecodeRows<Decoded> rows_decoder<Decoded>(std::string_view format);
template BlockGemv<Decoded> block_gemv_for<Decoded>(std::string_view format);

}  // namespace precast::host
