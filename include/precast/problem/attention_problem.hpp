// AttentionProblem: the sizes, the mask and the bias of an attention, for the kernels of either backend.
#pragma once

#include <cstdint>

#include <precast/dtype/scalar.hpp>
#include <precast/tensor/heads_view.hpp>
#include <precast/tensor/view.hpp>

namespace precast {

/// Whether rounding a masked score to the inside dtype loses its -inf, which must then be restored.
template <ScalarDtype Inside, bool Saturates>
inline constexpr bool rounding_unmasks = Saturates || !has_infinity<Inside>;

inline namespace PRECAST_BACKEND {

/// The sizes of an attention, and what is added to its scores or masks them.
struct AttentionProblem {
  std::int64_t batch = 0;
  std::int64_t heads = 0;               ///< of queries, and of the result
  std::int64_t heads_kv = 0;            ///< of keys and values; divides `heads`
  std::int64_t queries = 0, keys = 0;   ///< rows of a head
  std::int64_t width = 0, width_v = 0;  ///< values of a head's row: of queries and keys, and of values
  f32 scale = 1;
  bool causal = false;     ///< query i sees keys 0 to i
  View<const f32> bias{};  ///< [heads, queries, keys], or without data

  /// The head of keys and values that a head of queries attends to: consecutive heads share one.
  std::int64_t kv_head(std::int64_t head) const { return head / (heads / heads_kv); }
  /// Whether a row that sees no key gives zeros, where the softmax of scores of -inf alone gives NaN.
  bool masks() const { return causal || bias.data() != nullptr || keys == 0; }
  /// How many of the keys query `query` may see.
  std::int64_t keys_seen_by(std::int64_t query) const { return causal ? min_of(keys, query + 1) : keys; }
  const f32* bias_row(std::int64_t head, std::int64_t query) const {
    return bias.data() ? bias.data() + (head * queries + query) * bias.row_stride() : nullptr;
  }
};

}  // namespace PRECAST_BACKEND

}  // namespace precast
