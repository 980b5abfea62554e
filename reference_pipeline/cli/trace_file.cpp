// Writes a trace as JSON.
#include <cli/cure_option.hpp>
#include <cli/output.hpp>
#include <cli/trace_file.hpp>

#include <precast/io/atomic_file.hpp>

namespace precast::cli {

namespace {

Json op_json(const watch::OpRecord& record) {
  const auto dtype = [](std::string_view name) { return name.empty() ? Json() : Json(name); };
  Json shape = Json::array();
  for (const std::int64_t size : record.shape.sizes()) shape.push_back(size);
  return {{"path", record.path},
          {"op", record.op},
          {"function", record.function},
          {"storage", dtype(record.storage)},
          {"operand", dtype(record.operand)},
          {"accumulate", dtype(record.accumulate)},
          {"inside", dtype(record.inside)},
          {"result", dtype(record.result)},
          {"shape", shape},
          {"max_abs", record.max_abs},
          {"inf", record.infinities},
          {"nan", record.nans}};
}

Json non_finite_json(const watch::NonFinite& found) {
  const std::string cure = option_of(watch::cure_for(found));
  return {{"path", found.record.path},
          {"op", found.record.op},
          {"function", found.record.function},
          {"index", found.index},
          {"value", json_number(found.value)},
          {"value_in_f32", json_number(found.value_in_f32)},
          {"largest_inside", json_number(found.largest_inside)},
          {"cure", cure.empty() ? Json() : Json(cure)},
          {"diagnosis", watch::diagnosis(found, option_of)}};
}

}  // namespace

std::string trace_text(const watch::Trace& trace) {
  std::string text = "{\"ops\": [";
  const char* before = "\n";
  for (const watch::OpRecord& record : trace.records()) {
    text += before + op_json(record).dump(-1, ' ', false, Json::error_handler_t::replace);
    before = ",\n";
  }
  text += "\n], \"first_non_finite\": ";
  text += trace.first_non_finite() ? non_finite_json(*trace.first_non_finite()).dump() : "null";
  return text + "}\n";
}

void write_trace(const std::filesystem::path& file, const watch::Trace& trace) {
  io::write_file(file, trace_text(trace));
}

}  // namespace precast::cli
