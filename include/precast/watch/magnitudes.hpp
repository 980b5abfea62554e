// Magnitudes: counts of result values between powers of two, for programs that need more than an observer
// receives.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace precast::watch {

/// Counts of values by their exponents in f32.
class Magnitudes {
 public:
  void add(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value) << 1;
    ++counts_[bits >> 24];
    if (bits == 0) ++zeros_;
  }
  Magnitudes& operator+=(const Magnitudes& other) {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    zeros_ += other.zeros_;
    return *this;
  }

  /// The number of finite values other than zero.
  std::int64_t values() const { return below_exponent(last_exponent); }
  /// The number of those below 2^exponent in magnitude; `exponent` is -126 or more.
  std::int64_t below_power(int exponent) const {
    return below_exponent(exponent + bias < last_exponent ? exponent + bias : last_exponent);
  }

 private:
  static constexpr int bias = 127, last_exponent = 255;  // the last is that of inf and NaN

  std::int64_t below_exponent(int end) const {
    std::int64_t count = -zeros_;
    for (int i = 0; i < end; ++i) count += counts_[static_cast<std::size_t>(i)];
    return count;
  }

  std::array<std::int64_t, 256> counts_{};
  std::int64_t zeros_ = 0;
};

namespace detail {
inline thread_local Magnitudes* magnitudes = nullptr;
}  // namespace detail

/// Where the watch hook's kernels on this thread count magnitudes in addition, or nullptr. Kernels of the
/// host count; those of a device do not.
inline Magnitudes* counted_magnitudes() { return detail::magnitudes; }

/// Counts into `magnitudes` for as long as this lives; `magnitudes` must outlive it. When an observer is
/// called for an op, the values of that op's result have been counted there.
class CountingMagnitudes {
 public:
  explicit CountingMagnitudes(Magnitudes& magnitudes)
      : before_(std::exchange(detail::magnitudes, &magnitudes)) {}
  ~CountingMagnitudes() { detail::magnitudes = before_; }
  CountingMagnitudes(const CountingMagnitudes&) = delete;
  CountingMagnitudes& operator=(const CountingMagnitudes&) = delete;

 private:
  Magnitudes* before_;
};

}  // namespace precast::watch
