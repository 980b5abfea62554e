// Readers of codes of a byte that are numbers by themselves: mxfp8's blocks, and rows under a scale.
#pragma once

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

  [[gnu::always_inline]] static void read(const std::byte* from, f32 factor, CodeLanes<vectors>& to) {
    const auto* const blocks = reinterpret_cast<const mxfp8*>(from);
    static constexpr auto scale_bytes =
        indices<std::uint8_t>([](int i) { return i / 32 * static_cast<int>(sizeof(mxfp8)); });
    // detail::e8m0: the byte in the mantissa of 2^23.
    constexpr Words16 of_2_to_23 = Words16{} + 0x4b000000u;
    for (int v = 0; v < vectors; ++v) {
      to.codes[v] = loaded_halves(blocks[2 * v].codes, blocks[2 * v + 1].codes);
      const Words16 words = words_with_byte_of(of_2_to_23, loaded(blocks + 2 * v), scale_bytes);
      const auto powers = same_bits_as<Floats16>(words) - (0x1p23f + 127);
      const auto no_number = same_bits_as<Words16>(powers == 128);
      to.scales[v] = same_bits_as<Floats16>(same_bits_as<Words16>(times_two_to(factor, powers)) | no_number);
    }
  }
};

#endif
#endif

}  // namespace precast::host::detail
