// Readers of codes of a byte that are numbers by themselves: mxfp8's blocks, and rows under a scale.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/dtype/blocks/small_float_blocks.hpp>
#include <precast/host/block_readers.hpp>
#include <precast/host/code_lanes.hpp>

namespace precast::host::detail {

/// The reader of a format: BlockReader, but for rows under a scale, of which those of one code have one.
template <class Format>
struct ReaderFor {
  using type = BlockReader<Format>;
};

#if defined(__AVX512F__) && defined(__AVX512BW__)

/// 128 codes of a byte in the order of their columns.
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

template <>
struct BlockReader<mxfp8> : ByteReader {
  using Code = fp8_e4m3;
  static constexpr int bytes = 4 * sizeof(mxfp8);
  static constexpr std::array<f32, 256> scales = [] {
    std::array<f32, 256> all{};
    for (std::size_t code = 0; code < all.size(); ++code)
      all[code] = precast::detail::e8m0(static_cast<std::uint8_t>(code));
    return all;
  }();

  [[gnu::always_inline]] static void read(const std::byte* from, f32, CodeLanes<vectors>& to) {
    const auto* const blocks = reinterpret_cast<const mxfp8*>(from);
    // Looked up, as loads cost the units nothing that multiply; factor, which is 1 of floats, is left out.
    for (int v = 0; v < vectors; ++v) {
      to.codes[v] = loaded_halves(blocks[2 * v].codes, blocks[2 * v + 1].codes);
      const __m512 low = _mm512_set1_ps(scales[blocks[2 * v].scale]);
      to.scales[v] = same_bits_as<Floats16>(
          _mm512_mask_broadcastss_ps(low, 0xff00, _mm_load_ss(&scales[blocks[2 * v + 1].scale])));
    }
  }
};

#endif
#endif

}  // namespace precast::host::detail
