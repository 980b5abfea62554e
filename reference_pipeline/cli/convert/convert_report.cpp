// Summarises a conversion over all its parts.
#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <vector>

#include <cli/convert/convert_report.hpp>
#include <cli/terminal/format.hpp>
#include <convert/scaled_weight.hpp>
#include <convert/value_type.hpp>
#include <process/memory.hpp>

#include <precast/error.hpp>
#include <precast/io/counted.hpp>
#include <precast/io/joined.hpp>
#include <precast/io/message.hpp>
#include <precast/io/number_text.hpp>

namespace precast::cli {

namespace {

using conversion::OutputTensor;
using conversion::TypeShare;
using Types = std::map<std::string, TypeShare>;

/// A group of tensors, and the name of one of them.
struct Group {
  std::int64_t tensors = 0;
  std::string example;
};

struct Sums {
  Types before, after;
  TypeShare all_before, all_after;
  std::map<std::string, Group> kept;  ///< by reason
  /// By type, requested type, and the row length that is not divisible by the block size.
  std::map<std::tuple<std::string, std::string, std::optional<std::int64_t>>, Group> others;
};

void add(Types& types, TypeShare& all, const Types& more) {
  for (const auto& [type, share] : more) {
    for (TypeShare* const sum : {&types[type], &all}) {
      sum->tensors += share.tensors;
      sum->values += share.values;
      sum->bytes += share.bytes;
    }
  }
}

void count(Group& group, const std::string& name) {
  if (group.tensors++ == 0) group.example = io::printable(name);
}

Sums sums_of(const conversion::ModelConversion& done) {
  Sums sums;
  for (const conversion::ModelPart& part : done.parts()) {
    add(sums.before, sums.all_before, part.conversion->input_types());
    add(sums.after, sums.all_after, part.conversion->output_types());
    for (const OutputTensor& tensor : part.conversion->tensors()) {
      if (tensor.chosen.instead_of)
        count(sums.others[{std::string(tensor.chosen.type.name), std::string(tensor.chosen.instead_of->name),
                           tensor.chosen.undivided}],
              tensor.name);
      else if (!tensor.chosen.kept_because.empty())
        count(sums.kept[std::string(tensor.chosen.kept_because)], tensor.name);
    }
  }
  return sums;
}

double bits_of(const TypeShare& share) {
  return share.values ? 8.0 * static_cast<double>(share.bytes) / static_cast<double>(share.values) : 0.0;
}

/// The types in order of decreasing bits.
std::vector<std::pair<std::string, TypeShare>> ordered(const Types& types) {
  std::vector<std::pair<std::string, TypeShare>> rows(types.begin(), types.end());
  std::ranges::stable_sort(rows, std::ranges::greater{}, [](const auto& row) { return bits_of(row.second); });
  return rows;
}

Json types_json(const Types& types) {
  Json json = Json::object();
  for (const auto& [type, share] : ordered(types))
    json[type] = {{"tensors", share.tensors},
                  {"values", share.values},
                  {"bytes", share.bytes},
                  {"bits_per_value", bits_of(share)}};
  return json;
}

Json side_json(const Types& types, const TypeShare& all) {
  return {{"bytes", all.bytes}, {"bits_per_value", bits_of(all)}, {"types", types_json(types)}};
}

}  // namespace

std::string conversion_text(const conversion::ModelConversion& done, double seconds, bool dry_run) {
  const Sums sums = sums_of(done);
  std::vector<std::vector<std::string>> rows{{"type", "tensors", "values", "bytes", "bits per value"}};
  for (const auto& [type, share] : ordered(sums.after))
    rows.push_back({type, std::to_string(share.tensors), with_commas(share.values), in_bytes(share.bytes),
                    io::fixed(bits_of(share), 2)});
  std::string text = aligned(rows, "lr");
  for (const auto& [key, group] : sums.others) {
    const auto& [type, wanted, undivided] = key;
    text += type + " instead of " + wanted +
            (undivided ? ", whose blocks do not divide rows of " + std::to_string(*undivided)
                       : ", which takes " + conversion::what_can_be_scaled(wanted)) +
            ": " + io::counted(group.tensors, "tensor") + ", such as " + group.example + "\n";
  }
  for (const auto& [reason, group] : sums.kept)
    text += "kept precise, " + reason + ": " + io::counted(group.tensors, "tensor") + ", such as " +
            group.example + "\n";
  const std::string from = io::joined(ordered(sums.before), ", ", [](const auto& row) { return row.first; });
  text += "before " + in_bytes(sums.all_before.bytes) + " (" + from + ", " +
          io::fixed(bits_of(sums.all_before), 2) + " bits per value), after " +
          in_bytes(sums.all_after.bytes) + " (" + io::fixed(bits_of(sums.all_after), 2) + ")" +
          (dry_run ? "; nothing was written (--dry-run)" : ", in " + human_duration(seconds)) + "\n";
  return text;
}

Json conversion_json(const conversion::ModelConversion& done, double seconds, bool dry_run) {
  const Sums sums = sums_of(done);
  Json files = Json::array(), others = Json::array();
  for (const conversion::ModelPart& part : done.parts()) {
    files.push_back({{"component", text_or_null(part.component)},
                     {"input", part.input->path().string()},
                     {"output", part.conversion->target().string()},
                     {"bytes", part.conversion->bytes()}});
    for (const OutputTensor& tensor : part.conversion->tensors())
      if (tensor.chosen.instead_of)
        others.push_back({{"name", tensor.name},
                          {"type", tensor.chosen.type.name},
                          {"instead_of", tensor.chosen.instead_of->name},
                          {"columns", tensor.shape.back()}});
  }
  Json kept = Json::object();
  for (const auto& [reason, group] : sums.kept) kept[reason] = group.tensors;
  return {{"files", files},
          {"before", side_json(sums.before, sums.all_before)},
          {"after", side_json(sums.after, sums.all_after)},
          {"kept", kept},
          {"instead", others},
          {"warnings", done.warnings()},
          {"dry_run", dry_run},
          {"seconds", seconds},
          {"peak_resident_bytes", process::peak_resident_memory()}};
}

}  // namespace precast::cli
