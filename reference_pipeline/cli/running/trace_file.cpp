// Writes a trace as JSON, op by op.
#include <cli/running/cure_option.hpp>
#include <cli/running/trace_file.hpp>
#include <cli/terminal/output.hpp>

#include <precast/error.hpp>
#include <precast/io/json_text.hpp>
#include <precast/watch/trace.hpp>

namespace precast::cli {

namespace {

Json op_json(const watch::OpRecord& record) {
  Json shape = Json::array();
  for (const std::int64_t size : record.shape.sizes()) shape.push_back(size);
  Json json{{"path", record.path}, {"op", record.op}, {"function", record.function}};
  json.update(dtypes_json(record.dtypes));
  json.update(
      {{"shape", shape}, {"max_abs", record.max_abs}, {"inf", record.infinities}, {"nan", record.nans}});
  return json;
}

/// An op's line of JSON, and the text before it.
std::string op_line(const watch::OpRecord& record, bool first) {
  return (first ? "{\"ops\": [\n" : ",\n") + io::json_line(op_json(record));
}

/// The text after the last op.
std::string end_text(const std::optional<watch::NonFinite>& found, bool no_op) {
  return (no_op ? std::string("{\"ops\": [") : std::string()) + "\n], \"first_non_finite\": " +
         (found ? io::json_line(non_finite_json(*found)) : std::string("null")) + "}\n";
}

}  // namespace

Json non_finite_json(const watch::NonFinite& found) {
  const std::string cure = option_of(watch::cure_for(found), found.record.path);
  return {{"path", found.record.path},
          {"op", found.record.op},
          {"function", found.record.function},
          {"index", found.index},
          {"value", json_number(found.value)},
          {"value_in_f32", json_number(found.value_in_f32)},
          {"largest_inside", json_number(found.largest_inside)},
          {"cure", text_or_null(cure)},
          {"diagnosis", diagnosis(found)}};
}

void TraceFile::on_op(const watch::OpRecord& record) {
  constexpr std::size_t piece = std::size_t{64} << 10;
  non_finite_values_ += record.infinities + record.nans;
  if (!file_) return;
  pending_ += op_line(record, !std::exchange(any_, true));
  if (pending_.size() < piece) return;
  try {
    file_->write(pending_);
  } catch (const InputError&) {
    failed_ = std::current_exception();
    file_.reset();  // frees the disk space
  }
  pending_.clear();
}

void TraceFile::on_non_finite(const watch::NonFinite& found) {
  if (!first_non_finite_) first_non_finite_ = found;
}

void TraceFile::commit() {
  if (failed_) std::rethrow_exception(failed_);
  pending_ += end_text(first_non_finite_, !any_);
  file_->write(pending_);
  file_->commit();
}

}  // namespace precast::cli
