#include <algorithm>
#include <map>
#include <vector>

#include <cli/casting/plan_table.hpp>
#include <formats/registry.hpp>

#include <precast/error.hpp>
#include <precast/io/counted.hpp>
#include <precast/io/joined.hpp>
#include <precast/io/message.hpp>
#include <precast/io/number_text.hpp>

namespace precast::cli {

namespace {

/// The ratio of an error to the plan's, 1 if both are 0; nothing if only the plan's is 0.
std::optional<double> ratio_of(const casting::PlanResult& result, const casting::PlannedSize& size) {
  const double least = *result.plan.error;
  if (least > 0) return size.error / least;
  return size.error == 0 ? std::optional(1.0) : std::nullopt;
}

}  // namespace

std::string types_in_words(const casting::Plan& plan) {
  std::map<std::pair<double, std::string>, std::size_t> counts;
  for (const auto& [layer, type] : plan.types) {
    const formats::StoredFormat* const format = formats::format_named(type);
    ++counts[{format ? -format->bits : 0, type}];
  }
  return io::joined(counts, ", ", [](const auto& of_type) {
    const auto& [type, count] = of_type;
    return io::printable(type.second, 40) + " x " + std::to_string(count);
  });
}

std::string plan_summary(const casting::PlanResult& result) {
  const double gap = *result.plan.gap;
  return io::counted(std::ssize(result.plan.types), "layer") + ", " + with_commas(result.parameters) +
         " parameters: " + types_in_words(result.plan) + "\n" +
         (gap == 0
              ? "no plan is better (proved)"
              : "stopped early: the best plan is at most " + io::significant(100 * gap, 2) + "% better") +
         "\n";
}

std::string plan_table(const casting::PlanResult& result) {
  std::vector<std::vector<std::string>> rows{{"method", "bits", "bytes", "error", "ratio", ""}};
  for (const casting::PlannedSize& size : result.sizes) {
    const auto ratio = ratio_of(result, size);
    rows.push_back({io::printable(size.method, 40), io::fixed(casting::bits_to_show(size.bits), 4),
                    with_commas(size.bytes) + " (" + in_bytes(size.bytes) + ")",
                    io::significant(size.error, 6), ratio ? io::fixed(*ratio, 3) : "–",
                    size.keeps ? "" : "(beyond the limit)"});
  }
  return aligned(rows, "lrrrrl");
}

std::string verified_line(const casting::PlanResult& result, double measured) {
  const double predicted = *result.plan.error;
  return "verified: error " + io::significant(measured, 6) + " measured, " + io::significant(predicted, 6) +
         " predicted" + (predicted > 0 ? " (" + io::fixed(measured / predicted, 3) + " times)" : "") + "\n";
}

Json plan_json(const casting::PlanResult& result) {
  Json json = Json::parse(casting::plan_text(result.plan));
  json["parameters"] = result.parameters;
  Json sizes = Json::array();
  for (const casting::PlannedSize& size : result.sizes) {
    sizes.push_back({{"method", size.method},
                     {"bits", size.bits},
                     {"bytes", size.bytes},
                     {"error", json_number(size.error)},
                     {"ratio", value_or_null(ratio_of(result, size))},
                     {"keeps", size.keeps}});
  }
  json["sizes"] = std::move(sizes);
  return json;
}

}  // namespace precast::cli
