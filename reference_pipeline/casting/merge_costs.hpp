// merge_costs: the numbers of several cost files, such as those of shards, in one.
#pragma once

#include <span>
#include <string>

#include <casting/cost_file.hpp>

namespace precast::casting {

/// A cost file and the name that messages have for it.
struct NamedCosts {
  std::string name;
  CostFile file;
};

/// All layers and formats of the files, at least one. Layers that share what stands before their first number
/// ("transformer_blocks.") stand together, by number; these groups come in the order of the files. Throws
/// InputError that names two files and what differs, where their model, samples, settings or what estimates
/// were made from do, or where both have numbers of one layer and format that are not the same.
CostFile merge_costs(std::span<const NamedCosts> files);

}  // namespace precast::casting
