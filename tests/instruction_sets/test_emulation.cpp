// The emulated instructions, by numbers from Intel's Software Developer's Manual and by hand.
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <catch2/catch.hpp>

#include <precast/host/simd/lanes.hpp>

namespace {

using Floats = std::array<float, 16>;
using Words = std::array<std::uint32_t, 16>;

template <class Array, class Register>
Array values(const Register& bits) {
  static_assert(sizeof(Array) == sizeof(Register));
  Array result;
  std::memcpy(&result, &bits, sizeof bits);
  return result;
}
Words counted() {
  Words words;
  for (std::uint32_t i = 0; i < 16; ++i) words[i] = i;
  return words;
}

}  // namespace

static_assert(precast::host::detail::register_bytes == 64 && precast::host::Lanes::width == 16,
              "these tests compile the library's code for AVX-512");

TEST_CASE("emulated AVX-512 looks up by indices as the instructions do", "[avx512]") {
  const __m512i words = _mm512_loadu_si512(counted().data());
  // An index of 16 words has 4 bits; of two tables 5, the fifth of which chooses.
  CHECK(values<Words>(_mm512_maskz_permutexvar_epi32(0x0003, _mm512_set1_epi32(16 + 5), words)) ==
        Words{5, 5});
  const __m512i other = _mm512_set1_epi32(77);
  CHECK(values<Words>(_mm512_permutex2var_epi32(words, _mm512_set1_epi32(9), other))[3] == 9);
  CHECK(values<Words>(_mm512_permutex2var_epi32(words, _mm512_set1_epi32(16 + 9), other))[3] == 77);
  CHECK(values<Words>(_mm512_permutex2var_epi8(words, _mm512_set1_epi32(64 << 8 | 4), other))[0] ==
        (77u << 8 | 1));  // bytes 4 of the first and 0 of the second, and twice byte 0 of the first
}

TEST_CASE("emulated AVX-512 shifts bytes out of 64 bits as the instruction does", "[avx512]") {
  Words words{};
  words[0] = 0x89abcdef, words[1] = 0x01234567;
  words[2] = 0x0000000f, words[3] = 0xf0000000;
  Words shifts{};
  shifts[0] = 4 | 32 << 8 | 60 << 16 | (64u + 8) << 24;  // of a shift six bits count
  shifts[2] = 60;                                        // after the highest bits come the lowest
  const auto apart = values<Words>(_mm512_maskz_multishift_epi64_epi8(
      ~0ull, _mm512_loadu_si512(shifts.data()), _mm512_loadu_si512(words.data())));
  CHECK(apart[0] == (0xdeu | 0x67u << 8 | 0xf0u << 16 | 0xcdu << 24));
  CHECK(apart[1] == 0xefefefef);
  CHECK((apart[2] & 0xff) == 0xff);
  CHECK(values<Words>(_mm512_maskz_multishift_epi64_epi8(2, _mm512_loadu_si512(shifts.data()),
                                                         _mm512_loadu_si512(words.data())))[0] == 0x6700);
}

TEST_CASE("emulated AVX-512 classifies, compares and rounds as the instructions do", "[avx512]") {
  Floats numbers{};
  numbers[0] = NAN;
  numbers[1] = 0x1p-140f;
  numbers[2] = -INFINITY;
  numbers[3] = -1;
  const __m512 x = _mm512_loadu_ps(numbers.data());
  CHECK(_mm512_fpclass_ps_mask(x, 0x01) == 1);
  CHECK(_mm512_fpclass_ps_mask(x, 0x20) == 2);
  CHECK(_mm512_fpclass_ps_mask(x, 0x10) == 4);
  CHECK(_mm512_fpclass_ps_mask(x, 0x40) == 8);
  // The second operand where one is NaN.
  const __m512 zero = _mm512_setzero_ps();
  CHECK(values<Floats>(_mm512_mask_max_ps(x, 0xffff, x, zero))[0] == 0);
  CHECK(std::isnan(values<Floats>(_mm512_mask_max_ps(x, 0xffff, zero, x))[0]));
  CHECK(values<Floats>(_mm512_maskz_scalef_ps(0xffff, _mm512_set1_ps(3), _mm512_set1_ps(-1.5f)))[7] == 0.75f);
  CHECK(values<Floats>(_mm512_maskz_sqrt_ps(0xffff, _mm512_set1_ps(6.25f)))[7] == 2.5f);
  // Bit by bit, the table's row of a, b and c: 0xca is b where a has a one, else c.
  CHECK(values<Words>(_mm512_ternarylogic_epi32(_mm512_set1_epi32(0x0f), _mm512_set1_epi32(0x55),
                                                _mm512_set1_epi32(0x33), 0xca))[0] == 0x35);
}

#if defined(__AVX512BF16__)
TEST_CASE("emulated AVX-512 rounds to bf16 and multiplies it as the instructions do", "[avx512]") {
  using Codes = std::array<std::uint16_t, 32>;
  Floats numbers{};
  numbers[0] = 1 + 0x1p-8f;            // midway, to even
  numbers[1] = 1 + 0x1p-7f + 0x1p-8f;  // midway, to even above
  numbers[2] = 0x1p-130f;              // subnormal: zero
  numbers[3] = -NAN;
  const auto rounded =
      std::bit_cast<std::array<std::uint16_t, 16>>(_mm512_cvtneps_pbh(_mm512_loadu_ps(numbers.data())));
  CHECK(rounded[0] == 0x3f80);
  CHECK(rounded[1] == 0x3f82);
  CHECK(rounded[2] == 0);
  CHECK((rounded[3] & 0x7fc0) == 0x7fc0);
  Codes a{}, b{};
  a[0] = a[1] = 0x3f80;  // 1
  b[0] = 0x3f80;
  b[1] = 0xcb80;  // -2^24: the odd product comes first, and the even one fits no more
  const auto products = values<Floats>(
      _mm512_dpbf16_ps(_mm512_set1_ps(0x1p24f), std::bit_cast<__m512bh>(a), std::bit_cast<__m512bh>(b)));
  CHECK(products[0] == 1);
}
#endif
