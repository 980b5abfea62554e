// What the texts of `precast cost`'s options mean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace precast::cli {

/// "q8_0,Q4_K" as names of formats, each once. Throws UsageError, with the nearest name where one is near.
std::vector<std::string> parse_types(const std::string& text);

/// The formats that are measured where nobody says which, with commas between: of block formats those that a
/// build `holds`.
std::string usual_types(bool (*holds)(std::string_view block_format));

/// "0-18,20" as numbers below `count`, each once, in rising order. Throws UsageError.
std::vector<std::int64_t> parse_layers(const std::string& text, std::int64_t count);

}  // namespace precast::cli
