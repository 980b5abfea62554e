// The facts of each format, against the numbers in their specifications: IEEE 754-2019, OCP 8-bit Floating
// Point (OFP8) and OCP Microscaling Formats (MX).
#include <string_view>

#include <catch2/catch.hpp>
#include <support/stored_only.hpp>

#include <precast/dtype/dtype.hpp>
#include <precast/dtype/scalar.hpp>

using namespace precast;
using precast::testing::StoredOnly;

namespace {

constexpr FloatFormat f32_format = dtype_traits<f32>::format;
constexpr FloatFormat tf32_format = dtype_traits<tf32>::format;
constexpr FloatFormat bf16_format = dtype_traits<bf16>::format;
constexpr FloatFormat f16_format = dtype_traits<f16>::format;
constexpr FloatFormat e4m3 = dtype_traits<fp8_e4m3>::format;
constexpr FloatFormat e5m2 = dtype_traits<fp8_e5m2>::format;

struct Facts {
  int bits, bias;
  double eps, min_normal, min_subnormal, max;
  int decimal_digits;
};

constexpr bool has(const FloatFormat& format, const Facts& facts) {
  return format.bits() == facts.bits && format.bias() == facts.bias && format.eps() == facts.eps &&
         format.min_normal() == facts.min_normal && format.min_subnormal() == facts.min_subnormal &&
         format.max() == facts.max && format.decimal_digits() == facts.decimal_digits;
}

static_assert(has(f32_format, {32, 127, 0x1p-23, 0x1p-126, 0x1p-149, 0x1.fffffep127, 6}));
static_assert(has(tf32_format, {19, 127, 0x1p-10, 0x1p-126, 0x1p-136, 0x1.ffcp127, 3}));
static_assert(has(bf16_format, {16, 127, 0x1p-7, 0x1p-126, 0x1p-133, 0x1.fep127, 2}));
static_assert(has(f16_format, {16, 15, 0x1p-10, 0x1p-14, 0x1p-24, 65504, 3}));
static_assert(has(e4m3, {8, 7, 0x1p-3, 0x1p-6, 0x1p-9, 448, 0}));
static_assert(has(e5m2, {8, 15, 0x1p-2, 0x1p-14, 0x1p-16, 57344, 0}));

// The narrowest exponent there is: 0, 1, 2 and 3.
static_assert(has({1, 1, Specials::none}, {3, 0, 1, 2, 1, 3, 0}));

// The compiler's own facts of binary32.
static_assert(f32_format.max() == static_cast<double>(std::numeric_limits<float>::max()));
static_assert(f32_format.min_normal() == static_cast<double>(std::numeric_limits<float>::min()));
static_assert(f32_format.min_subnormal() == static_cast<double>(std::numeric_limits<float>::denorm_min()));
static_assert(f32_format.eps() == static_cast<double>(std::numeric_limits<float>::epsilon()));
static_assert(f32_format.decimal_digits() == std::numeric_limits<float>::digits10);

// Codes that the specifications write out.
static_assert(f16_format.max_code() == 0x7bff && f16_format.infinity_code() == 0x7c00);
static_assert(bf16_format.max_code() == 0x7f7f && bf16_format.infinity_code() == 0x7f80);
static_assert(e4m3.max_code() == 0x7e && e4m3.nan_code() == 0x7f && e4m3.kind(0xff) == ValueKind::nan);
static_assert(e5m2.max_code() == 0x7b && e5m2.infinity_code() == 0x7c);
static_assert(e4m3.decode(0x78) == 256 && e4m3.decode(0x07) == 0.875 * 0x1p-6);

// Above the range: infinity, NaN without one; a tie at the edge goes away from the odd largest number.
static_assert(f16_format.encode(65519.99) == 0x7bff && f16_format.encode(65520) == 0x7c00);
static_assert(e4m3.encode(464) == 0x7e && e4m3.encode(464.01) == 0x7f && e4m3.encode(-1e300) == 0xff);
static_assert(e5m2.encode(61439.9) == 0x7b && e5m2.encode(61440) == 0x7c);

// Formats without infinity and NaN saturate: MX's fp6 and fp4.
constexpr FloatFormat e3m2{3, 2, Specials::none};
constexpr FloatFormat e2m3{2, 3, Specials::none};
constexpr FloatFormat e2m1{2, 1, Specials::none};
static_assert(e3m2.max() == 28 && e3m2.min_normal() == 0.25 && e3m2.min_subnormal() == 0.0625);
static_assert(e2m3.max() == 7.5 && e2m3.min_normal() == 1 && e2m3.min_subnormal() == 0.125);
static_assert(e2m1.max() == 6 && e2m1.min_normal() == 1 && e2m1.min_subnormal() == 0.5);
static_assert(e2m1.encode(1e9) == e2m1.max_code() && e2m1.encode(-1e9) == (8 | 7));
static_assert(e3m2.encode(std::numeric_limits<double>::infinity()) == e3m2.max_code());

static_assert(f16_format.ulp(1) == 0x1p-10 && f16_format.ulp(-1.5) == 0x1p-10 && f16_format.ulp(2) == 0x1p-9);
static_assert(f16_format.ulp(0) == 0x1p-24 && f16_format.ulp(65504) == 32);

static_assert(Dtype<f32> && ScalarDtype<fp8_e5m2> && !BlockDtype<f32> && !Dtype<double> && !Dtype<int>);
static_assert(dtype_info<bf16> == DtypeInfo{"bf16", 1, 2} &&
              dtype_info<fp8_e4m3> == DtypeInfo{"fp8_e4m3", 1, 1});
static_assert(bytes_for<f16>(3) == 6 && bytes_for<f32>(0) == 0);

static_assert(widens_exactly<f32, bf16> && widens_exactly<f32, f16> && widens_exactly<f32, tf32>);
// Files hold every scalar but tf32, which is a format of operands and leaves f32 between ops, as fp8 leaves
// bf16.
static_assert(in_files<f32> && in_files<bf16> && in_files<f16> && in_files<fp8_e4m3> && in_files<fp8_e5m2> &&
              !in_files<tf32>);
static_assert(dtype_traits<fp8_e5m2>::safetensors_name == "F8_E5M2");
static_assert(std::is_same_v<dtype_traits<tf32>::between_ops, f32> &&
              std::is_same_v<dtype_traits<fp8_e4m3>::between_ops, bf16> &&
              std::is_same_v<dtype_traits<f16>::between_ops, f16>);
static_assert(widens_exactly<f16, fp8_e4m3> && widens_exactly<bf16, fp8_e5m2> && widens_exactly<tf32, f16>);
static_assert(!widens_exactly<bf16, f16> && !widens_exactly<f16, bf16> &&
              !widens_exactly<fp8_e4m3, fp8_e5m2>);

static_assert(BlockDtype<StoredOnly> && !ScalarDtype<StoredOnly> &&
              dtype_info<StoredOnly> == DtypeInfo{"stored_only", 32, 18});
static_assert(bytes_for<StoredOnly>(32) == 18 && bytes_for<StoredOnly>(33) == 36);
}  // namespace

TEST_CASE("the facts of the formats hold at compile time") {
  SUCCEED("checked by the static_asserts of this file");
}

TEST_CASE("fp4 and fp6 hold the values that the MX specification lists") {
  const double fp4[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (std::uint32_t code = 0; code < 8; ++code) {
    CHECK(e2m1.decode(code) == fp4[code]);
    CHECK(e2m1.encode(fp4[code]) == code);
  }
  for (const FloatFormat& format : {e3m2, e2m3, e2m1})
    for (std::uint32_t code = 0; code < format.codes(); ++code)
      CHECK(format.encode(format.decode(code)) == code);
}
