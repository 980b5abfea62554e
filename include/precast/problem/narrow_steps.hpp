// Norms and softmax whose sums and intermediates are narrower than f32 (Downcast<...>): where each value is
// rounded, on both backends. They show what naive f16 does to a model: they are correct, have one order of
// operations, and are slow.
#pragma once

#include <cmath>
#include <type_traits>

#include <precast/dtype/convert_value.hpp>
#include <precast/dtype/host_device.hpp>
#include <precast/problem/math.hpp>

namespace precast {

/// Whether a row of the op table keeps sums or intermediates narrower than f32.
template <class Types>
inline constexpr bool is_narrow =
    !(std::is_same_v<typename Types::accumulate, f32> && std::is_same_v<typename Types::inside, f32>);

/// The number of partial sums of a narrow sum. Value i is added to partial sum i mod this number, in order;
/// then the partial sums are added in order. A CUDA block has a thread for each.
inline constexpr int narrow_partial_sums = 128;

/// One more term of a narrow sum.
template <class Types>
PRECAST_HOST_DEVICE f32 narrow_add(f32 sum, f32 term) {
  if constexpr (std::is_same_v<typename Types::accumulate, f32>)
    return sum + term;
  else
    return add_rounded<typename Types::accumulate>(sum, term);
}

/// What a norm's values deviate from.
enum class Around : bool {
  mean,  ///< of layer and group norms
  zero,  ///< of RMS norms
};

/// The steps of a norm, with each intermediate rounded to `inside`.
template <class Types>
struct NarrowNorm {
  static PRECAST_HOST_DEVICE f32 kept(f32 x) { return rounded_to<typename Types::inside>(x); }
  static PRECAST_HOST_DEVICE f32 mean(f32 sum, f32 count) { return kept(sum / count); }
  static PRECAST_HOST_DEVICE f32 deviation(f32 x, f32 mean) { return kept(x - mean); }
  static PRECAST_HOST_DEVICE f32 square(f32 x) { return kept(math::rounded_product(x, x)); }
  /// 1 / sqrt(mean square + eps).
  static PRECAST_HOST_DEVICE f32 inverse(f32 squares, f32 count, f32 eps) {
    return kept(1.0f / kept(std::sqrt(kept(kept(squares / count) + eps))));
  }
  static PRECAST_HOST_DEVICE f32 normalised(f32 deviation, f32 inverse) { return kept(deviation * inverse); }
};

/// The steps of a softmax.
template <class Types>
struct NarrowSoftmax {
  static PRECAST_HOST_DEVICE f32 kept(f32 x) { return rounded_to<typename Types::inside>(x); }
  static PRECAST_HOST_DEVICE f32 term(f32 x, f32 largest) {
    return kept(math::exp_of_negative(kept(x - largest)));
  }
};

}  // namespace precast
