// CastTarget: the parameters that are cast at a time, and what casting them alone tells.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <casting/cast_source.hpp>
#include <casting/measure.hpp>
#include <families/blocks.hpp>

namespace precast::casting {

/// Parameters of one block, under the name that they share.
struct CastTarget {
  std::string name;
  std::vector<families::BlockParameter> parameters;

  /// Their values.
  std::int64_t count() const;
};

/// What is cast of a block, one after another.
std::vector<CastTarget> targets_of(const families::Block& block, const CostSettings& settings);

/// A target after a cast.
struct TargetCast {
  double bits = 0;                 ///< of a parameter, scales of blocks included
  std::optional<double> estimate;  ///< of its relative loss, where the settings know the importance
};

/// Casts a target of a block in `source` to a type, or takes it from the settings' patch where the type is
/// the patch's. Throws what CastSource does.
TargetCast cast_target(CastSource& source, const families::Block& block, const CastTarget& target,
                       const std::string& type, const CostSettings& settings);

}  // namespace precast::casting
