// What a part of a comparison leaves in a file: its pictures, and what they took. Parts are the whole.
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
  std::string sampler;  ///< that was asked for, which the text does not have; "" for the model's own
  std::string inputs;   ///< what tells the picture, mask and latents that it begins with apart; "" for none
  std::vector<Compared> rows;  ///< of this part, without their distances from the reference
};

/// Whether both are of one comparison; where it was run, and what of it, may differ.
bool are_of_one(const ComparisonPart& a, const ComparisonPart& b);

/// As JSON; pictures are PNG in base64.
std::string comparison_part_text(const ComparisonPart& part);

/// The part behind such a text, or a file of it. Throws InputError that names the file and its key.
ComparisonPart parse_comparison_part(std::string_view text, const std::filesystem::path& path);
ComparisonPart read_comparison_part(const std::filesystem::path& path);

/// A part and the file that it is from.
struct NamedPart {
  std::string name;
  ComparisonPart part;
};

/// The whole, with distances. Throws InputError where parts are of several comparisons, have a policy twice,
/// or lack one.
ComparisonPart merge_parts(std::span<const NamedPart> parts);

}  // namespace precast::cli
