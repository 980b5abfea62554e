// BlockDecoder: the functions that decode rows of a block format known only at run time, one for each
// dtype that products multiply. They are instantiated once for each format and operand, not for each
// policy.
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>

#include <precast/backend.hpp>
#include <precast/dtype/dtype.hpp>
#include <precast/dtype/scalar.hpp>
#include <precast/host/blocks/block_rows.hpp>

namespace precast::host {

/// Writes columns [first, first + columns) of `count` rows, row r from to + r * stride on, each value rounded
/// to T once: the same bits as decode_run gives, and then convert_value.
template <ScalarDtype T>
using DecodeRows = void (*)(const BlockRows& rows, std::int64_t count, std::int64_t first,
                            std::int64_t columns, T* to, std::int64_t stride);

/// The functions of one format; the one for bf16 only where a policy multiplies bf16.
struct BlockDecoder {
  DtypeInfo format;
  DecodeRows<f32> to_f32 = nullptr;
  DecodeRows<bf16> to_bf16 = nullptr;

  std::int64_t bytes_per_row(std::int64_t columns) const {
    return ceil_divide(columns, format.values_per_block) * format.bytes_per_block;
  }
};

/// The function of a format for operands of T. Null where the library has no block format of that name.
/// Throws PathNotCompiled where PRECAST_QUANT leaves it out. Defined in host/blocks/block_decoding.hpp; the
/// pipeline links one unit for each T (kernels/).
template <ScalarDtype T>
DecodeRows<T> rows_decoder(std::string_view format);

/// Whether blocks are decoded to bf16 too, and not only to f32, for products with `Types`.
template <class Types>
inline constexpr bool decodes_to_bf16 = std::is_same_v<typename Types::operand, bf16>;

/// Picks the functions of a weight's format for products with `Types`, once, as it is loaded: without
/// functions where the library has no such block format. Throws PathNotCompiled where PRECAST_QUANT leaves it
/// out.
template <class Types>
BlockDecoder block_decoder(const DtypeInfo& format) {
  BlockDecoder decoder{format};
  if (format.values_per_block == 1) return decoder;
  decoder.to_f32 = rows_decoder<f32>(format.name);
  if constexpr (decodes_to_bf16<Types>) decoder.to_bf16 = rows_decoder<bf16>(format.name);
  return decoder;
}

}  // namespace precast::host

// A unit that sees only declarations of kernels links the units of kernels/ with the decoders.
#if PRECAST_HOLDS_KERNELS
#include <precast/host/blocks/block_decoding.hpp>
#endif
