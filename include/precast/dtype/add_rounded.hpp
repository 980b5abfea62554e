// Addition that rounds to a scalar dtype, for sums that are kept in it.
#pragma once

#include <bit>
#include <cstdint>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/scalar.hpp>

namespace precast {

/// sum + addend, rounded once to T, as f32. `sum` is a T and `addend` any f32: the f32 sum is rounded to odd
/// (Boldo and Melquiond 2008), so that rounding it again to T is as good as rounding the real sum.
template <ScalarDtype T>
[[gnu::always_inline]] PRECAST_HOST_DEVICE_CONSTEXPR f32 add_rounded(f32 sum, f32 addend) {
  const f32 nearest = sum + addend;
  const f32 of_addend = nearest - sum;
  const f32 rest = (sum - (nearest - of_addend)) + (addend - of_addend);
  const auto code = bit_cast<std::int32_t>(nearest);
  const bool finite = (code & 0x7fffffff) < 0x7f800000;
  const bool inexact = rest != 0 && finite;
  const std::int32_t step = ((rest > 0) == (nearest > 0)) ? 1 : -1;
  const f32 odd = bit_cast<f32>(inexact && (code & 1) == 0 ? code + step : code);
  return convert_value<f32, false>(convert_value<T, false>(odd));
}

}  // namespace precast
