// Observer: receives every op's result while the watch is on. When off, the watch costs one branch an op.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include <precast/error.hpp>
#include <precast/policy/op_table.hpp>
#include <precast/tensor/shape.hpp>
#include <precast/watch/ran_in.hpp>

namespace precast::watch {

/// One op as it ran: its path, its dtypes and its result.
struct OpRecord {
  std::string path;           ///< "transformer.single_transformer_blocks.3.attn"
  std::string_view function;  ///< "linear", "attention", "layer_norm"
  std::string_view op;        ///< the op class: "Matmul"
  DtypeNames dtypes;          ///< of the row that its kernel was instantiated with
  Shape shape;                ///< of the result
  double max_abs = 0;         ///< the largest finite |x|; 0 for an empty result
  std::int64_t infinities = 0;
  std::int64_t nans = 0;
  double largest_inside = 0;  ///< the largest |x| between the op's steps in f32 (an attention's scores), for
                              ///< an observer that wants it; 0 where the op has none
};

/// The first value of a run that is not finite.
struct NonFinite {
  OpRecord record;
  std::int64_t index = 0;     ///< its place in the result, in row-major order
  double value = 0;           ///< inf or NaN
  double value_in_f32 = 0;    ///< the result of the same op on the same inputs in f32
  double largest_inside = 0;  ///< the largest |x| between the op's steps in f32 (scores); 0 where it has none
  double result_max = 0;      ///< the largest finite number of the result's dtype
  /// The largest finite number of the weights' storage dtype; infinity for a block format or no weights.
  double storage_max = std::numeric_limits<double>::infinity();
  /// Whether value_in_f32 rounds to a finite number in the result's dtype, as numbers slightly above
  /// result_max do.
  bool rounds_to_finite = false;
};

/// Receives the records of ops, on the thread that runs them.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_op(const OpRecord& record) = 0;
  /// Whether the record of an op, which is complete but for it, should have its largest value between
  /// steps: an attention is computed once more for that.
  virtual bool wants_inside(const OpRecord&) const { return false; }
  /// Whether the next non-finite result should be computed again in f32 and given to on_non_finite.
  virtual bool wants_non_finite() const { return false; }
  virtual void on_non_finite(const NonFinite&) {}
};

/// Observes the ops of the thread that makes it, for as long as it lives, and must end in that thread; the
/// previous observer receives nothing meanwhile. Ops of other threads report to their own observers, if
/// any. Throws PathNotCompiled where this build has no watch hook.
class Watching {
 public:
  explicit Watching(Observer& observer) : before_(observer_before(observer)) {}
  ~Watching() {
#if PRECAST_HAS_WATCH
    detail::observer = before_;
#endif
  }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

 private:
  static Observer* observer_before(Observer& observer) {
#if PRECAST_HAS_WATCH
    return std::exchange(detail::observer, &observer);
#else
    static_cast<void>(observer);
    throw PathNotCompiled(
        "ops of this build cannot be watched or traced: configure with -DPRECAST_WATCH=on, or define "
        "PRECAST_HAS_WATCH as 1 where headers alone are included");
#endif
  }

  Observer* before_;
};

}  // namespace precast::watch
