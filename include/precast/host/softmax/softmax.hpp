// Softmax of rows, in f32 or in dtypes narrower than f32.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include <precast/dtype/exact_arithmetic.hpp>
#include <precast/host/rows/for_each_row.hpp>
#include <precast/host/rows/sums.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/host/simd/lanes.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/problem/math.hpp>
#include <precast/problem/narrow_steps.hpp>
#include <precast/tensor/view.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::host {

/// The largest value of a row; NaN is ignored, and an empty row gives -inf.
inline f32 largest_of(std::span<const f32> row) {
  constexpr auto width = static_cast<std::size_t>(Lanes::width);
  f32 largest = -std::numeric_limits<f32>::infinity();
  if (row.size() < width) {
    for (const f32 value : row) largest = value > largest ? value : largest;
    return largest;
  }
  Lanes best = Lanes::broadcast(largest);
  for (std::size_t i = 0; i < row.size(); i += width)  // the last vector overlaps the one before
    best = best.max(Lanes::load(row.data() + std::min(i, row.size() - width)));
  return largest_lane(best);
}

/// e^(x - max x) / sum e^(x - max x), from `in` to `out`, which may be one. Rows with +inf or NaN give NaN;
/// so do rows of nothing but -inf, unless `masked`: then they give zeros.
inline void softmax_row(std::span<const f32> in, std::span<f32> out, bool masked = false) {
  const f32 largest = largest_of(in);
  if (masked && largest == -std::numeric_limits<f32>::infinity()) {
    bool all_masked = true;
    for (const f32 x : in) all_masked = all_masked && x == largest;
    if (all_masked) {
      for (f32& y : out) y = 0;
      return;
    }
  }
  for (std::size_t i = 0; i < in.size(); ++i) out[i] = math::exp_of_negative(in[i] - largest);
  const f32* terms = out.data();
  const f32 inverse =
      1.0f / sum_of(static_cast<std::int64_t>(out.size()), [terms](std::int64_t i) { return terms[i]; });
  for (f32& y : out) y *= inverse;
}

namespace detail {

PRECAST_EXACT_ARITHMETIC_BEGIN

/// The softmax of each row where sums or intermediates are narrower than f32. Not optimised: no model uses
/// it.
template <class Types, class From>
void narrow_softmax(HostView<const From> x, HostView<typename Types::result> out) {
  using Steps = NarrowSoftmax<Types>;
  parallel_for(x.rows(), [&](std::int64_t r) {
    const auto row = x.row(r);
    const auto to = out.row(r);
    f32 largest = -std::numeric_limits<f32>::infinity();
    for (const From value : row) largest = std::max(largest, convert_value<f32>(value));
    const auto term = [&](std::int64_t i) {
      return Steps::term(convert_value<f32>(row[static_cast<std::size_t>(i)]), largest);
    };
    const f32 sum = narrow_sum<Types>(x.columns(), term);
    for (std::int64_t i = 0; i < x.columns(); ++i)
      to[static_cast<std::size_t>(i)] = convert_value<typename Types::result, Types::saturate>(term(i) / sum);
  });
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace detail

/// The softmax of each row.
template <class Types, class From>
void softmax(HostView<const From> x, HostView<typename Types::result> out) {
  watch::ran_in<Types>();
  static_assert(takes_as_given<Types>, "softmax takes its operand as given, or widened to f32.");
  if constexpr (is_narrow<Types>)
    detail::narrow_softmax<Types>(x, out);
  else
    for_each_row<Types>(x, out, [](std::int64_t, std::span<const f32> in, std::span<f32> computed) {
      softmax_row(in, computed);
    });
}

}  // namespace precast::host
