// Trace: records every op of a run, and explains in one line where and why the run first left the finite
// numbers.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <precast/watch/cure.hpp>
#include <precast/watch/observer.hpp>

namespace precast::watch {

/// Collects the ops of a run in their order, and the first value that is not finite.
class Trace final : public Observer {
 public:
  void on_op(const OpRecord& record) override { records_.push_back(record); }
  bool wants_non_finite() const override { return !first_non_finite_; }
  void on_non_finite(const NonFinite& found) override {
    if (!first_non_finite_) first_non_finite_ = found;
  }

  const std::vector<OpRecord>& records() const { return records_; }
  const std::optional<NonFinite>& first_non_finite() const { return first_non_finite_; }
  /// Infinities and NaNs in all results together.
  std::int64_t non_finite_values() const {
    std::int64_t count = 0;
    for (const OpRecord& record : records_) count += record.infinities + record.nans;
    return count;
  }

 private:
  std::vector<OpRecord> records_;
  std::optional<NonFinite> first_non_finite_;
};

/// A number for messages: six digits are enough to see how far above a range a value is.
inline std::string digits(double value) {
  if (std::isnan(value)) return "nan";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general, 6).ptr};
}

/// "[0, 3, 17]": the place of the value of that row-major index.
inline std::string place(const Shape& shape, std::int64_t index) {
  std::string text;
  for (std::size_t i = shape.rank(); i-- > 0;) {
    const std::int64_t size = shape[i] > 0 ? shape[i] : 1;
    text = std::to_string(index % size) + (text.empty() ? "" : ", ") + text;
    index /= size;
  }
  return "[" + text + "]";
}

/// One line: the op, its value in f32, and the option that cures it, as `spelled` writes that.
template <class Spelling = decltype(&in_policy)>
std::string diagnosis(const NonFinite& found, Spelling&& spelled = &in_policy) {
  const OpRecord& record = found.record;
  std::string text = "first non-finite value: " + digits(found.value) + " at " +
                     place(record.shape, found.index) + " of " +
                     (record.path.empty() ? "" : record.path + " ") + "(" + std::string(record.function) +
                     ", " + std::string(record.op) + "); f32 has " + digits(found.value_in_f32) + " there: ";
  const std::string result(record.dtypes.result);
  const std::string cure = spelled(cure_for(found));
  switch (cause_of(found)) {
    case Cause::input:
      return text +
             "its input or its weights already hold such a value, or one that overflows f32 too, and no " +
             "precision option cures that: check the model's files";
    case Cause::weights:
      return text + "a weight is not a number of " + std::string(record.dtypes.storage) +
             ", in which they are stored, or what the op reads is not finite: where the file's own numbers " +
             "are, " + cure + " cures it, and otherwise no precision option does: check the model's files";
    case Cause::result:
      text += "above the largest " + result + ", " + digits(found.result_max) +
              ", which no upcast changes: " + cure + " cures it";
      return record.dtypes.result == "f16" ? text + ", and so does " + spelled(Cure::saturate) : text;
    case Cause::inside:
      break;
  }
  const std::string inside(record.dtypes.inside.empty() ? record.dtypes.accumulate : record.dtypes.inside);
  text += result + " can hold that, but the op overflows on the way";
  if (found.largest_inside > 0) {
    text += ", where values reach " + digits(found.largest_inside);
    if (inside == result) text += " and " + inside + " ends at " + digits(found.result_max);
  }
  text += ": " + cure + " cures it";
  return record.op == "Attention" && record.dtypes.inside != "f32"
             ? text + ", and so does " + spelled(Cure::flash)
             : text;
}

}  // namespace precast::watch
