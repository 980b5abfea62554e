// The search encoder of codes under a scale for a row or a tensor (quant/scaled.hpp): trial scales are
// evaluated on all values that share the scale, a piece at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include <precast/dtype/blocks/scaled_rows.hpp>
#include <precast/dtype/float_format.hpp>
#include <precast/host/runtime/parallel.hpp>
#include <precast/quant/scaled_code.hpp>
#include <precast/quant/search_trials.hpp>

namespace precast::quant {

PRECAST_EXACT_ARITHMETIC_BEGIN

namespace detail {

template <ScaledCode Code>
struct GridOfCode {
  using type = FloatGrid<Code>;
};
template <>
struct GridOfCode<std::int8_t> {
  using type = IntegerGrid<-127, 127>;
};

/// Sums over values under each trial scale, as in TrialSums.
struct ScaleTrials {
  std::array<double, tries> error{}, products{}, squares{};

  ScaleTrials& operator+=(const ScaleTrials& other) {
    for (std::size_t t = 0; t < tries; ++t) {
      error[t] += other.error[t];
      products[t] += other.products[t];
      squares[t] += other.squares[t];
    }
    return *this;
  }
};

/// The errors of two scales, in f64, from the values as they decode.
struct ErrorPair {
  double before = 0, after = 0;

  ErrorPair& operator+=(const ErrorPair& other) {
    before += other.before;
    after += other.after;
    return *this;
  }
};

/// A search for the scale of some values, in rounds; each depends on the sums over all values in the last:
/// first scales half an octave apart, from one above the reference's down (values that matter little may be
/// cut off), then closer ones about the best, and in two rounds the least-squares scales for the codes that
/// these gave.
template <ScaledCode Code>
class ScaleSearch {
 public:
  explicit ScaleSearch(f32 reference)
      : reference_(reference),
        // Values in units of a code, nearly: squares of f32 hold these, of values of any size.
        unit_(static_cast<f32>(power_of_two(-std::clamp(std::ilogb(reference), -126, 126)))),
        best_(reference * unit_) {
    around(best_, 0x1.6a09e6p+0f, 1);  // 2^(1/2): half an octave
  }

  static constexpr int rounds = 5;

  /// The sums of the trial scales for some values, with a weight for each; without weights all are equal.
  ScaleTrials tried(std::span<const f32> values, std::span<const f32> weights) const {
    constexpr std::size_t at_once = 64;
    alignas(64) f32 here[at_once], with[at_once], sums[3][tries];
    ScaleTrials trials;
    for (std::size_t first = 0; first < values.size(); first += at_once) {
      const std::size_t count = std::min(at_once, values.size() - first);
      if (count < at_once || first == 0)
        for (std::size_t i = 0; i < at_once; ++i) here[i] = 0, with[i] = i < count ? 1.0f : 0.0f;
      for (std::size_t i = 0; i < count; ++i) here[i] = values[first + i] * unit_;
      if (!weights.empty()) std::memcpy(with, weights.data() + first, count * sizeof(f32));
      for (int t = 0; t < tries; t += lanes_of<Tries>) {
        const auto found =
            try_scale<typename GridOfCode<Code>::type, at_once>(here, with, load<Tries>(scales_.data() + t));
        store(found.error, sums[0] + t);
        store(found.products, sums[1] + t);
        store(found.squares, sums[2] + t);
      }
      for (std::size_t t = 0; t < tries; ++t) {
        trials.error[t] += static_cast<double>(sums[0][t]);
        trials.products[t] += static_cast<double>(sums[1][t]);
        trials.squares[t] += static_cast<double>(sums[2][t]);
      }
    }
    return trials;
  }

  /// Ends a round, with the sums over all values.
  void take(const ScaleTrials& trials) {
    for (std::size_t t = 0; t < tries; ++t)
      if (trials.error[t] < least_) least_ = trials.error[t], best_ = scales_[t];
    ++round_;
    if (round_ == 1) return around(best_, 0x1.0b5586p+0f, 8);  // 2^(1/16)
    if (round_ == 2) return around(best_, 0x1.0163dap+0f, 8);  // 2^(1/128)
    for (std::size_t t = 0; t < tries; ++t)
      if (trials.squares[t] > 0) scales_[t] = static_cast<f32>(trials.products[t] / trials.squares[t]);
  }

  /// The best scale of those that were tried.
  f32 best() const {
    const f32 scale = best_ / unit_;
    return scale > 0 && scale <= std::numeric_limits<f32>::max() ? scale : reference_;
  }
  /// The squared errors of the reference's scale and of that one.
  ErrorPair errors(std::span<const f32> values, std::span<const f32> weights) const {
    return {squared_error_under<Code>(values, weights, reference_),
            squared_error_under<Code>(values, weights, best())};
  }

 private:
  /// Trial scales a constant factor apart, `above` of them above the middle.
  void around(f32 middle, f32 factor, int above) {
    f32 scale = middle;
    for (int i = 0; i < above; ++i) scale *= factor;
    for (f32& each : scales_) each = scale, scale /= factor;
  }

  f32 reference_, unit_;
  f32 best_;
  double least_ = HUGE_VAL;
  int round_ = 0;
  alignas(64) std::array<f32, tries> scales_{};
};

/// The sum of what `sums_of(piece)` gives, on all threads of parallel_for, added in the order of the pieces.
template <class SumsOf>
auto sum_of_pieces(std::int64_t pieces, SumsOf&& sums_of) {
  std::vector<decltype(sums_of(std::int64_t{}))> sums(static_cast<std::size_t>(pieces));
  host::parallel_for(pieces,
                     [&](std::int64_t piece) { sums[static_cast<std::size_t>(piece)] = sums_of(piece); });
  for (std::size_t piece = 1; piece < sums.size(); ++piece) sums.front() += sums[piece];
  return sums.front();
}

}  // namespace detail

/// A scale for values with a smaller sum of weight * squared error than under the `reference` encoder's, or
/// that one where none is found: what stands there is never worse, summed in f64 as values decode.
///
/// `total(of)` calls of(values, weights) for pieces of all values under the scale, in any order and on any
/// thread, and gives the sum of the results, added in the order of the values; weights are as many, or none.
template <ScaledCode Code, class Total>
f32 search_scale(f32 reference, Total&& total) {
  detail::ScaleSearch<Code> search(reference);
  for (int round = 0; round < search.rounds; ++round)
    search.take(total([&](std::span<const f32> values, std::span<const f32> weights) {
      return search.tried(values, weights);
    }));
  const detail::ErrorPair errors = total([&](std::span<const f32> values, std::span<const f32> weights) {
    return search.errors(values, weights);
  });
  return errors.after < errors.before ? search.best() : reference;
}

PRECAST_EXACT_ARITHMETIC_END

}  // namespace precast::quant
