// Checks that the result of attention does not overlap its operands.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <precast/backend.hpp>
#include <precast/error.hpp>
#include <precast/memory/memory_counter.hpp>
#include <precast/ops/run_op.hpp>
#include <precast/tensor/heads_view.hpp>
#include <precast/tensor/view.hpp>

namespace precast::detail {

inline namespace PRECAST_BACKEND {

/// A dimension of a HeadsView, and its three dimensions sorted by ascending stride.
struct HeadsDimension {
  std::int64_t stride, size;
};
template <class T>
std::array<HeadsDimension, 3> dimensions_by_stride(const HeadsView<T>& heads) {
  const HeadsStrides& by = heads.strides();
  std::array<HeadsDimension, 3> dimensions{
      {{by.batch, heads.batch()}, {by.row, heads.rows()}, {by.head, heads.heads()}}};
  std::ranges::sort(dimensions, {}, &HeadsDimension::stride);
  return dimensions;
}

/// Throws ShapeError where rows of heads in the result of attention overlap each other: the stride of a
/// dimension must not be below the span of those inside it.
template <class T>
void require_heads_apart(const HeadsView<T>& out) {
  if (out.elements() == 0) return;
  const HeadsStrides& by = out.strides();
  std::int64_t spanned = out.width();
  for (const auto& [stride, size] : dimensions_by_stride(out)) {
    if (size == 1) continue;
    if (stride < spanned)
      throw ShapeError("attention: the heads of the result " + to_string(out.shape()) + " with strides of " +
                       std::to_string(by.batch) + ", " + std::to_string(by.row) + " and " +
                       std::to_string(by.head) + " overlap: only operands may do so");
    spanned += (size - 1) * stride;
  }
}

/// The bytes of heads or rows: runs with a constant step, and up to two loops around them.
class HeadsBytes {
 public:
  template <class T>
  explicit HeadsBytes(View<T> rows) : runs_(rows) {}
  template <class T>
  explicit HeadsBytes(const HeadsView<T>& heads) : runs_(View<T>()) {
    if (heads.elements() == 0) return;
    std::int64_t run = heads.width(), count = 1, step = 0;
    for (const auto& [stride, size] : dimensions_by_stride(heads)) {
      if (size == 1 || stride == 0) continue;  // the same values again
      if (count == 1 && stride == run)
        run *= size;
      else if (count == 1)
        step = stride, count = size;
      else if (depth_ == 0 && stride == step * count)
        count *= size;
      else
        loops_[static_cast<std::size_t>(depth_++)] = {stride * static_cast<std::int64_t>(sizeof(T)), size};
    }
    runs_ = RowBytes(View<T>(heads.data(), Shape{count, run}, count == 1 ? run : step));
  }

  /// Whether the two share a byte.
  bool overlaps(const HeadsBytes& other) const {
    if (runs_.count == 0 || other.runs_.count == 0 || end() <= other.runs_.first ||
        other.end() <= runs_.first)
      return false;
    if (depth_ == 0 && other.depth_ == 0) return runs_.overlaps(other.runs_);
    if (depth_ < other.depth_ ||
        (depth_ == other.depth_ && end() - runs_.first < other.end() - other.runs_.first))
      return other.overlaps(*this);
    // Only the iterations of the outermost loop that reach the other's bytes.
    HeadsBytes turn = *this;
    const HeadsDimension& loop = loops_[static_cast<std::size_t>(--turn.depth_)];
    const std::int64_t span = turn.end() - runs_.first;
    const std::int64_t before = other.runs_.first - runs_.first - span;
    for (std::int64_t i = before < 0 ? 0 : before / loop.stride + 1; i < loop.size; ++i) {
      turn.runs_.first = runs_.first + i * loop.stride;
      if (turn.runs_.first >= other.end()) return false;
      if (turn.overlaps(other)) return true;
    }
    return false;
  }

 private:
  std::int64_t end() const {
    std::int64_t end = runs_.end();
    for (int i = 0; i < depth_; ++i) {
      const HeadsDimension& loop = loops_[static_cast<std::size_t>(i)];
      end += (loop.size - 1) * loop.stride;
    }
    return end;
  }

  RowBytes runs_;
  std::array<HeadsDimension, 2> loops_{};  ///< the smaller step first, in bytes
  int depth_ = 0;
};

/// Throws ShapeError where the result of attention, rows or heads, overlaps an operand.
template <class Call, class Out>
void require_heads_apart_from(std::string_view op, const Call& call, const Out& out) {
  if (MemoryCounter::active()) return;  // a dry run has no real addresses
  const HeadsBytes written(out);
  const auto require = [&](const auto& operand) {
    if (written.overlaps(HeadsBytes(operand))) throw_overlap(op, out.shape(), operand.shape());
  };
  require(call.q);
  require(call.k);
  require(call.v);
  require(call.problem.bias);
}

}  // namespace PRECAST_BACKEND

}  // namespace precast::detail
