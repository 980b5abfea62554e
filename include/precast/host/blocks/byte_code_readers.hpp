// Readers of codes that are numbers by themselves: mxfp8's and mxfp6's blocks, and rows under a scale.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/host/blocks/block_readers.hpp>
#include <precast/host/blocks/code_lanes.hpp>

namespace precast::host::detail {

/// The reader of a format: BlockReader, but for rows under a scale, of which those of one code have one.
template <class Format>
struct ReaderFor {
  using type = BlockReader<Format>;
};

#if defined(__AVX512F__) && defined(__AVX512BW__)

/// 128 codes of one byte each, in the order of columns.
struct ByteReader : PlainReader {
  static constexpr int columns = 128, vectors = 2, bits = 8;
  static constexpr int column(int vector, int byte) { return 64 * vector + byte; }
};

/// Rows whose codes stand behind a head: the factor that they are read with has its scale.
struct RowReader : ByteReader {
  static constexpr int bytes = columns, head_bytes = row_head_bytes;
  [[gnu::always_inline]] static void read(const std::byte* from, f32 factor, CodeLanes<vectors>& to) {
    for (int v = 0; v < vectors; ++v) {
      to.codes[v] = loaded(from + 64 * v);
      to.scales[v] = Floats16{} + factor;
    }
  }
};

template <ScaledCode C>
struct CodeRowReader : RowReader {
#if defined(__AVX512VBMI__)
  using Code = C;
#else
  static constexpr bool exists = false;
#endif
};
template <>
struct CodeRowReader<std::int8_t> : RowReader {
  static constexpr int value(int code) { return code < 128 ? code : code - 256; }
};

template <ScaledRowDtype Format>
struct ReaderFor<Format> {
  using type = CodeRowReader<scaled_code_of<Format>>;
};

#if defined(__AVX512VBMI__)

/// Four blocks of OCP's, two in a vector.
template <precast::detail::Microscaled Block>
struct MicroscaledReader : ByteReader {
  using Code = precast::detail::element_of<Block>;
  static constexpr int bytes = 4 * sizeof(Block);
  static constexpr std::array<f32, 256> scales = [] {
    std::array<f32, 256> all{};
    for (std::size_t code = 0; code < all.size(); ++code)
      all[code] = precast::detail::e8m0(static_cast<std::uint8_t>(code));
    return all;
  }();

  /// Looked up: loads do not use the multiply units.
  [[gnu::always_inline]] static Floats16 scales_of(const Block* two) {
    const __m512 low = _mm512_set1_ps(scales[two[0].scale]);
    return same_bits_as<Floats16>(
        _mm512_mask_broadcastss_ps(low, 0xff00, _mm_load_ss(&scales[two[1].scale])));
  }
  /// The factor, which is 1 of floats, is left out.
  [[gnu::always_inline]] static void read(const std::byte* from, f32, CodeLanes<vectors>& to) {
    const auto* const blocks = reinterpret_cast<const Block*>(from);
    for (int v = 0; v < vectors; ++v) {
      to.codes[v] = BlockReader<Block>::codes_of(blocks, v);
      to.scales[v] = scales_of(blocks + 2 * v);
    }
  }
};

template <>
struct BlockReader<mxfp8> : MicroscaledReader<mxfp8> {
  [[gnu::always_inline]] static Words16 codes_of(const mxfp8* blocks, int v) {
    return loaded_halves(blocks[2 * v].codes, blocks[2 * v + 1].codes);
  }
};

template <precast::detail::Mxfp6 Block>
struct BlockReader<Block> : MicroscaledReader<Block> {
  /// Eight codes lie in six bytes, which go to eight and are shifted apart.
  template <int v>
  [[gnu::always_inline]] static Words16 two_blocks_of(const Block* blocks) {
    // The first two blocks from where they begin, the last two up to where they end.
    constexpr int skipped = v == 0 ? 0 : 4 * sizeof(Block) - 64;
    static constexpr auto places = indices<std::uint8_t>([](int i) {
      const int block = 2 * v + i / 32, eight = i % 32 / 8, byte = std::min(i % 8, 5);
      return block * static_cast<int>(sizeof(Block)) + 1 + 6 * eight + byte - skipped;
    });
    static constexpr auto shifts = indices<std::uint8_t>([](int i) { return 6 * (i % 8); });
    const Words16 codes =
        shifted_apart(bytes_at(places, loaded(reinterpret_cast<const std::byte*>(blocks) + skipped)), shifts);
    // The sign where a code of 8 bits has it.
    return (codes & 0x1f1f1f1fu) | (codes << 2 & 0x80808080u);
  }
  [[gnu::always_inline]] static Words16 codes_of(const Block* blocks, int v) {
    return v == 0 ? two_blocks_of<0>(blocks) : two_blocks_of<1>(blocks);
  }
};

#endif
#endif

}  // namespace precast::host::detail
