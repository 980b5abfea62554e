// What the texts of `precast cost`'s options mean.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <casting/measure.hpp>

namespace precast::cli {

/// "q8_0,Q4_K" as names of formats, each once. Throws UsageError, with the nearest name where one is near.
std::vector<std::string> parse_types(const std::string& text);

/// "0-18,20" as numbers below `count`, each once, in rising order. Throws UsageError.
std::vector<std::int64_t> parse_layers(const std::string& text, std::int64_t count);

/// "2/4", the second of four, from 1; "auto": the part that Slurm or mpirun made of this process. Throws
/// UsageError, and InputError where they made none.
casting::Shard parse_shard(const std::string& text);

/// The file of a part, beside those of the others: "cost.json" of 2/4 is "cost-2-of-4.json".
std::string part_file(const std::string& file, const casting::Shard& shard);

}  // namespace precast::cli
