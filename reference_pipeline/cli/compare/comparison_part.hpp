// The file of one part of a comparison: its pictures, times and memory. merge_parts joins them.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cli/compare/comparison.hpp>
#include <cli/compare/report_page.hpp>

namespace precast::cli {

/// Some policies of a comparison, or all of them.
struct ComparisonPart {
  ReportFacts facts;
  std::vector<std::string> policies;  ///< of the whole comparison; the first is the reference
  std::string parameters;             ///< the sheet's text of settings, for a PNG
  std::string sampler;                ///< as asked for, not in `parameters`; "" for the model's own
  std::string inputs;                 ///< hash of the initial picture, mask and latents; "" for none
  std::vector<Compared> rows;         ///< of this part, without distances
};

/// Whether two parts belong to one comparison: all but `rows` and where it was run must agree.
bool same_comparison(const ComparisonPart& a, const ComparisonPart& b);

/// The part as JSON; pictures are base64-encoded PNG.
std::string comparison_part_text(const ComparisonPart& part);

/// Parses such JSON, read from `path`. Throws InputError that names the file and its key.
ComparisonPart parse_comparison_part(std::string_view text, const std::filesystem::path& path);
ComparisonPart read_comparison_part(const std::filesystem::path& path);

/// A part and the name of its file.
struct NamedPart {
  std::string name;
  ComparisonPart part;
};

/// The whole comparison, with distances. Throws InputError if the parts are from different comparisons, two
/// contain the same policy, or one policy is missing.
ComparisonPart merge_parts(std::span<const NamedPart> parts);

}  // namespace precast::cli
