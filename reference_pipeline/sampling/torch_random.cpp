#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include <sampling/torch_random.hpp>

namespace precast::sampling {
namespace {

// The results depend on which products below are fused (std::fma) and which are rounded: this
// follows PyTorch's AVX2 code as its compiler contracted it. Other products must not be
// contracted.

/// A polynomial by Horner's rule, highest power first, each step one fused multiply-add.
template <std::size_t n>
f32 polynomial(f32 x, const f32 (&coefficients)[n]) {
  f32 sum = coefficients[0];
  for (std::size_t i = 1; i < n; ++i) sum = std::fma(sum, x, coefficients[i]);
  return sum;
}

/// ln x for normal x > 0, after Cephes' logf: x = m 2^e with m in [sqrt(1/2), sqrt(2)), then a polynomial in
/// m - 1.
f32 cephes_log(f32 x) {
  static constexpr f32 coefficients[] = {7.0376836292e-2f,  -1.1514610310e-1f, 1.1676998740e-1f,
                                         -1.2420140846e-1f, 1.4249322787e-1f,  -1.6668057665e-1f,
                                         2.0000714765e-1f,  -2.4999993993e-1f, 3.3333331174e-1f};
  constexpr f32 ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
  const auto word = std::bit_cast<std::uint32_t>(x);
  f32 exponent = static_cast<f32>(static_cast<int>(word >> 23) - 126);
  f32 mantissa = std::bit_cast<f32>((word & 0x007fffffu) | 0x3f000000u);  // in [1/2, 1)
  if (mantissa < 0.707106781186547524f) {
    exponent -= 1;
    mantissa = (mantissa - 1) + mantissa;
  } else {
    mantissa -= 1;
  }
  const f32 square = mantissa * mantissa;
  const f32 cubic = polynomial(mantissa, coefficients) * mantissa;
  const f32 low = exponent * ln2_low;
  f32 tail = std::fma(cubic, square, low);
  tail = std::fma(-0.5f, square, tail);
  const f32 sum = mantissa + tail;
  return std::fma(exponent, ln2_high, sum);
}

struct SineCosine {
  f32 sine, cosine;
};

/// sin x and cos x for x >= 0, after Cephes' sinf and cosf: the octant of x picks one of two polynomials on
/// [-pi/4, pi/4] and the signs.
SineCosine cephes_sine_cosine(f32 x) {
  static constexpr f32 sine_coefficients[] = {-1.9515295891e-4f, 8.3321608736e-3f, -1.6666654611e-1f};
  static constexpr f32 cosine_coefficients[] = {2.443315711809948e-5f, -1.388731625493765e-3f,
                                                4.166664568298827e-2f};
  constexpr f32 quarter_pi[] = {0.78515625f, 2.4187564849853515625e-4f, 3.77489497744594108e-8f};
  const f32 octants = x * 1.27323954473516f;
  const int octant = (static_cast<int>(octants) + 1) & ~1;
  const auto turns = static_cast<f32>(octant);
  for (const f32 part : quarter_pi) x = std::fma(-part, turns, x);

  const f32 square = x * x;
  const f32 fourth = polynomial(square, cosine_coefficients) * square;
  const f32 half = square * 0.5f;
  const f32 cosine = std::fma(fourth, square, -half) + 1;
  const f32 cubic = polynomial(square, sine_coefficients) * square;
  const f32 sine = std::fma(cubic, x, x);

  SineCosine result = (octant & 2) ? SineCosine{cosine, sine} : SineCosine{sine, cosine};
  if (octant & 4) result.sine = -result.sine;
  if (((octant - 2) & 4) == 0) result.cosine = -result.cosine;
  return result;
}

/// Turns 16 uniform values in [0, 1) into 16 standard normal ones: values i and i + 8 are a Box-Muller pair.
void normal_from_uniform(std::span<f32, 16> values) {
  for (std::size_t i = 0; i < 8; ++i) {
    const f32 log = cephes_log(1 - values[i]);
    const f32 radius = std::sqrt(-2 * log);
    const f32 angle = 2 * std::numbers::pi_v<f32> * values[i + 8];
    const auto [sine, cosine] = cephes_sine_cosine(angle);
    const f32 first = radius * cosine;
    const f32 second = radius * sine;
    values[i] = first + 0.0f;  // adding the mean turns -0 into 0
    values[i + 8] = second + 0.0f;
  }
}

}  // namespace

f32 TorchGenerator::uniform_f32() { return static_cast<f32>(engine_() & 0xffffffu) * 0x1p-24f; }

double TorchGenerator::uniform_f64() {
  const auto high = static_cast<std::uint64_t>(engine_());
  const auto low = static_cast<std::uint64_t>(engine_());
  return static_cast<double>(((high << 32) | low) & ((std::uint64_t{1} << 53) - 1)) * 0x1p-53;
}

double TorchGenerator::normal_f64() {
  if (spare_) {
    const double value = *spare_;
    spare_.reset();
    return value;
  }
  const double angle = 2 * std::numbers::pi * uniform_f64();
  const double radius = std::sqrt(-2 * std::log1p(-uniform_f64()));
  spare_ = radius * std::sin(angle);
  return radius * std::cos(angle);
}

void TorchGenerator::draw_few(std::span<f32> values) {
  for (f32& value : values) value = static_cast<f32>(normal_f64());
}

void TorchGenerator::draw_block(std::span<f32, 16> values) {
  for (f32& value : values) value = uniform_f32();
  normal_from_uniform(values);
}

/// Draws blocks of 16. A last partial block overlaps the previous one: the last 16 values are redrawn. In
/// f32, but not in bf16 and f16, uniform numbers for the rest have been drawn before that.
void TorchGenerator::draw_blocks(std::span<f32> values, bool takes_rest_first) {
  const std::size_t rest = values.size() % 16;
  for (std::size_t i = 0; i + 16 <= values.size(); i += 16) draw_block(values.subspan(i).first<16>());
  if (rest == 0) return;
  if (takes_rest_first) engine_.discard(rest);
  draw_block(values.last<16>());
}

template <ScalarDtype T>
Tensor<T> TorchGenerator::randn(const Shape& shape) {
  Tensor<f32> result(shape);
  if (DryRun::active()) {
    // A dry run needs only the shape.
  } else if (result.elements() < 16) {
    draw_few(result.values());
  } else {
    draw_blocks(result.values(), std::same_as<T, f32>);
  }
  if constexpr (std::same_as<T, f32>) {
    return result;
  } else {
    Tensor<T> rounded(shape);
    if (!DryRun::active())
      std::transform(result.values().begin(), result.values().end(), rounded.data(),
                     [](f32 x) { return convert<T>(x); });
    return rounded;
  }
}

Tensor<f32> TorchGenerator::uniform(const Shape& shape, f32 low, f32 high) {
  Tensor<f32> result(shape);
  if (DryRun::active()) return result;
  for (f32& value : result.values()) value = std::fma(uniform_f32(), high - low, low);
  return result;
}

template Tensor<f32> TorchGenerator::randn<f32>(const Shape&);
template Tensor<bf16> TorchGenerator::randn<bf16>(const Shape&);
template Tensor<f16> TorchGenerator::randn<f16>(const Shape&);

}  // namespace precast::sampling
