// The list of all block dtypes of the library, from which names, tables and file dtypes are made.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>

#include <precast/dtype/blocks/k_blocks.hpp>
#include <precast/dtype/blocks/lookup_blocks.hpp>
#include <precast/dtype/blocks/rounded_blocks.hpp>
#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/dtype/decode_run.hpp>

namespace precast {

/// The number of a block dtype that ggml does not have.
inline constexpr int no_ggml_type = -1;

/// An entry of the list: a block dtype, and the number that ggml and GGUF files give it.
template <BlockDtype Format, int ggml_number>
struct BlockFormatEntry {
  using format = Format;
  static constexpr int ggml_type = ggml_number;
};

/// A list of entries.
template <class... Entries>
struct BlockFormatList {
  static constexpr std::size_t size = sizeof...(Entries);
};

/// Every block dtype of the library, by falling number of bits.
using BlockFormats =
    BlockFormatList<BlockFormatEntry<q8_0, 8>, BlockFormatEntry<mxfp8, no_ggml_type>,
                    BlockFormatEntry<q6_k, 14>, BlockFormatEntry<mxfp6_e3m2, no_ggml_type>,
                    BlockFormatEntry<mxfp6_e2m3, no_ggml_type>, BlockFormatEntry<q5_1, 7>,
                    BlockFormatEntry<q5_0, 6>, BlockFormatEntry<q5_k, 13>, BlockFormatEntry<q4_1, 3>,
                    BlockFormatEntry<q4_0, 2>, BlockFormatEntry<q4_k, 12>, BlockFormatEntry<iq4_nl, 20>,
                    BlockFormatEntry<nvfp4, 40>, BlockFormatEntry<iq4_xs, 23>, BlockFormatEntry<mxfp4, 39>,
                    BlockFormatEntry<q3_k, 11>, BlockFormatEntry<q2_k, 10>>;

/// An entry of the list as a run-time value.
struct BlockFormat {
  DtypeInfo info;
  int ggml_type = no_ggml_type;

  constexpr double bits_per_value() const { return 8.0 * info.bytes_per_block / info.values_per_block; }
};

namespace detail {

template <class... Entries>
constexpr std::array<BlockFormat, sizeof...(Entries)> rows_of(BlockFormatList<Entries...>) {
  static_assert((decodes<typename Entries::format>() && ...));
  return {{{dtype_info<typename Entries::format>, Entries::ggml_type}...}};
}

template <class Visit, class... Entries>
constexpr bool visit_named(std::string_view name, Visit& visit, BlockFormatList<Entries...>) {
  return ((name == dtype_traits<typename Entries::format>::name &&
           (visit(std::type_identity<typename Entries::format>{}), true)) ||
          ...);
}

}  // namespace detail

/// The list as run-time values, in its order.
inline constexpr std::array block_formats = detail::rows_of(BlockFormats{});

/// Calls visit(std::type_identity<Format>{}) with the block dtype of that name; false where there is none.
template <class Visit>
constexpr bool visit_block_format(std::string_view name, Visit&& visit) {
  return detail::visit_named(name, visit, BlockFormats{});
}

}  // namespace precast
